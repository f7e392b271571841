/* SPDX-License-Identifier: Apache-2.0 */
/* What test_faces.py asks; src/lib.rs beside this has the same answers in Rust. */
#include <vector>

#include "roundhouse/plugin.hpp"

using roundhouse::Failure;
using roundhouse::Text;

namespace
{

constexpr rh_replica_type peer = roundhouse::replica_type("Peer", RH_REPLICA_REQUIRED, 1);
constexpr rh_replica_type helper = roundhouse::replica_type("Helper");
constexpr const rh_replica_type *types[] = {&peer, &helper, nullptr};

constexpr rh_kind make_kind(const char *kind, const char *plural, const char *singular, const char *controller)
{
	rh_kind made = roundhouse::kind_of("example.org", kind, types);

	made.plural = plural;
	made.singular = singular;
	made.framework = "face";
	made.controller = controller;
	made.replicas_field = "faceReplicaSpecs";
	made.port_name = "face-port";
	made.port = 7000;
	made.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME;
	made.spec_schema = R"({"mode": {"type": "string"}, "count": {"type": "integer"}, "list": {"type": "array",
		"items": {"type": "string"}}, "flag": {"type": "boolean"}})";
	return made;
}

constexpr rh_kind face = make_kind("FaceJob", "facejobs", "facejob", "facejob-controller");
constexpr rh_kind make_plain()
{
	rh_kind made = make_kind("PlainJob", "plainjobs", "plainjob", "plainjob-controller");

	made.status_schema = R"({"done": {"type": "integer"}})";
	return made;
}

constexpr rh_kind plain = make_plain();

[[noreturn]] void fail_by(Text mode)
{
	if (mode == "invalid")
		throw Failure(RH_EINVAL, "the user must change it");
	if (mode == "text")
		throw std::runtime_error("went wrong");
	if (mode == "memory")
		throw std::bad_alloc();
	if (mode == "other")
		throw 7;
	/* out of range: an exception of the library */
	(void)std::vector<int>().at(3);
	std::abort();
}

class FaceJob : public roundhouse::Kind
{
  public:
	const rh_kind &describe() const override
	{
		return face;
	}
	void validate(const roundhouse::View &view, roundhouse::Findings &findings) const override
	{
		const auto mode = view.text("spec.mode");

		if (mode == std::optional<Text>("refuse")) {
			findings.refuse("spec.mode", "Forbidden: refused");
			findings.warn("warned");
		}
		if (mode == std::optional<Text>("validate"))
			throw std::runtime_error("validate went wrong");
	}
	void pod(const roundhouse::View &view, const rh_replica &me, roundhouse::Pod &pod) const override
	{
		const auto mode = view.text("spec.mode");

		if (mode && *mode != "edit")
			fail_by(*mode);
		pod.env("TYPE", me.type);
		pod.env("RANK", me.rank);
		pod.env("NAME", view.pod_name(me.type, me.index));
		pod.env("FIRST", view.address("Peer", 0));
		pod.env("COUNT", view.integer("spec.count").value_or(-1));
		pod.env("LIST", view.json("spec.list").value_or("none"));
		pod.env("SIZE", view.size("spec.list").value_or(-1));
		pod.env("FLAG", view.boolean("spec.flag") ? "yes" : "no");
		pod.env("HELPERS", view.replicas("Helper").value_or(-1));
		pod.env("POLICY", view.restart_policy("Peer").value_or("none"));
		pod.env("QUOTED", view.quote("a \"b\""));
		pod.env("SETTING", view.setting("key").value_or("unset"));
		pod.env("LONG", std::string(1000, 'x'));
		if (mode) {
			pod.edit("spec.hostNetwork", "true");
			pod.edit("status", "{}");
		}
	}
	void objects(const roundhouse::View &view, roundhouse::Objects &objects) const override
	{
		if (view.boolean("spec.flag"))
			objects.add(
				R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "face"}, "data": {"a": "b"}})");
	}
};

class PlainJob : public roundhouse::Kind
{
  public:
	const rh_kind &describe() const override
	{
		return plain;
	}
	void pod(const roundhouse::View &, const rh_replica &, roundhouse::Pod &pod) const override
	{
		pod.env("PLAIN", "1");
	}
	roundhouse::Judgement judge(const roundhouse::View &view, roundhouse::Verdicts &verdicts) const override
	{
		const auto counts = view.counts("Peer");

		if (view.boolean("spec.flag") && counts)
			return judge_in_turn(view, *counts, verdicts);
		if (!counts || counts->succeeded < counts->desired)
			return roundhouse::Judgement::core;
		verdicts.succeeded("all peers are done");
		return roundhouse::Judgement::complete;
	}

  private:
	/* Peers run one after the other, all of them twice. */
	static roundhouse::Judgement judge_in_turn(const roundhouse::View &view, const rh_counts &counts,
	                                           roundhouse::Verdicts &verdicts)
	{
		const auto first = view.replica("Peer", 0);

		verdicts.status("done", roundhouse::Number(counts.succeeded));
		if (counts.ready < 0)
			verdicts.failed("Peer", "the host does not say who is ready");
		else if (!first || first->phase != RH_PHASE_SUCCEEDED)
			verdicts.hold("Peer", 1, "waits for the first");
		else if (counts.succeeded == counts.desired && view.attempt() == 0)
			verdicts.restart_all(RH_RESTART_FREE, nullptr, "once more");
		else if (counts.succeeded == counts.desired)
			verdicts.conclude(RH_VERDICT_SUCCEEDED, nullptr, "DoneTwice", "all peers are done twice");
		return roundhouse::Judgement::complete;
	}
};

constexpr const rh_replica_type *no_types[] = {nullptr};

constexpr rh_kind make_wide()
{
	rh_kind made = roundhouse::kind_of("example.org", "WideJob", no_types);

	made.plural = "widejobs";
	made.singular = "widejob";
	made.framework = "wide";
	made.controller = "widejob-controller";
	made.flags = RH_KIND_EXPANDED;
	made.spec_schema = R"({"sizes": {"type": "string"}, "ask": {"type": "string"},
		"fail": {"type": "boolean"}})";
	made.rbac_rules = R"([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "delete", "list"]}])";
	made.lookups = R"([{"name": "sizes", "apiVersion": "v1", "required": false, "kinds": [{"kind": "ConfigMap",
		"plural": "configmaps", "scope": "Namespaced"}], "object": {"from": "spec.sizes"}}])";
	return made;
}

constexpr rh_kind wide = make_wide();

/* A replica type for each key of the ConfigMap that the job names, and a Secret that is made of random bytes. */
class WideJob : public roundhouse::Kind
{
  public:
	const rh_kind &describe() const override
	{
		return wide;
	}
	void expand(const roundhouse::View &view, roundhouse::Expansion &expansion) const override
	{
		std::string list;

		if (const auto asked = view.text("spec.ask"))
			(void)view.lookup(*asked);
		if (view.lookup("sizes") == roundhouse::Lookup::unnamed)
			return expansion.refuse("spec.sizes", "Required value: must name a ConfigMap");
		if (view.lookup("sizes") == roundhouse::Lookup::absent)
			return expansion.refuse("spec.sizes", "Not found: no such ConfigMap");
		for (std::uint32_t i = 0; const auto key = view.key("@sizes.data", i); i++) {
			list.append(i > 0 ? "," : "").append(R"({"name": )").append(view.quote(*key));
			list.append(R"(, "replicas": )").append(*view.text(view.member("@sizes.data", *key)));
			list.append(R"(, "template": {"spec": {"containers": [{"name": "c", "image": "debian", "command":
				["sh", "-c", "true"]}]}}})");
		}
		expansion.give(R"({"types": [)" + list + "]}");
	}
	void objects(const roundhouse::View &, roundhouse::Objects &objects) const override
	{
		objects.add(R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wide-token"}})", RH_OBJECT_ONCE, 4);
	}
	void make(const roundhouse::View &view, const rh_made &request, roundhouse::Made &made) const override
	{
		std::string text;

		for (std::uint32_t i = 0; i < request.random_bytes; i++)
			text.append(1, static_cast<char>('a' + request.random[i] % 26));
		if (view.boolean("spec.fail"))
			throw Failure(RH_EINVAL, std::string(request.api_version) + " " + request.kind + "/" + request.name +
			                             " of " + std::to_string(text.size()) + " letters");
		made.give(
			R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wide-token"}, "stringData": {"a": ")" +
			text + R"("}})");
	}
};

} // namespace

ROUNDHOUSE_PLUGIN("face", "1.2.3", FaceJob, PlainJob, WideJob)
