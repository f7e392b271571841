/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod_record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/json.h"
#include "base/os/file.h"
#include "base/str.h"

/* Largest file that is read, in bytes. */
#define POD_RECORD_MAX ((size_t)16 * 1024)

/* One member of the object. */
struct pod_record_member {
	const char *key;
	const char **text;
};

#define POD_RECORD_MEMBERS 4

static void pod_record_members(struct rh_pod_record *record, struct pod_record_member members[POD_RECORD_MEMBERS])
{
	members[0] = (struct pod_record_member){"namespace", &record->namespace_};
	members[1] = (struct pod_record_member){"pod", &record->pod};
	members[2] = (struct pod_record_member){"job", &record->job};
	members[3] = (struct pod_record_member){"replica", &record->replica};
}

int rh_pod_record_write(const char *folder, const struct rh_pod_record *record, struct rh_error *err)
{
	struct rh_pod_record copy = *record;
	struct pod_record_member members[POD_RECORD_MEMBERS];
	rh_auto_free char *path = rh_path_join(folder, RH_POD_RECORD);
	rh_auto(json) json = rh_json_new_object();
	rh_auto_free char *text = NULL;
	rh_auto_close int fd = -1;

	pod_record_members(&copy, members);
	for (size_t i = 0; json && i < POD_RECORD_MEMBERS; i++) {
		if (rh_json_set_string(json, members[i].key, *members[i].text) < 0)
			return rh_fail_oom(err);
	}
	text = json ? rh_json_text(json) : NULL;
	if (!path || !text)
		return rh_fail_oom(err);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return rh_fail(err, RH_EIO, "cannot make \"%s\": %s", path, strerror(errno));
	return rh_fd_write_all(fd, text, strlen(text), err);
}

int rh_pod_record_read(const char *folder, struct rh_pod_record *ret_record)
{
	rh_auto_pod_record record = {0};
	struct pod_record_member members[POD_RECORD_MEMBERS];
	rh_auto_free char *path = rh_path_join(folder, RH_POD_RECORD);
	rh_auto_free char *text = NULL;
	rh_auto(json) json = NULL;
	int r = path ? rh_file_read(path, POD_RECORD_MAX, &text, NULL, NULL) : RH_ENOMEM;

	if (r == 0)
		r = rh_json_parse(text, strlen(text), &json, NULL);
	if (r < 0)
		return r;
	pod_record_members(&record, members);
	for (size_t i = 0; i < POD_RECORD_MEMBERS; i++) {
		const char *value = rh_json_string(rh_json_get(json, members[i].key));

		if (!value)
			return RH_EINVAL;
		*members[i].text = rh_strdup(value);
		if (!*members[i].text)
			return RH_ENOMEM;
	}
	*ret_record = record;
	record = (struct rh_pod_record){0};
	return 0;
}

void rh_pod_record_deinit(struct rh_pod_record *record)
{
	rh_free((char *)record->namespace_);
	rh_free((char *)record->pod);
	rh_free((char *)record->job);
	rh_free((char *)record->replica);
	*record = (struct rh_pod_record){0};
}
