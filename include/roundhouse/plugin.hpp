/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file roundhouse/plugin.hpp
 * @brief The plugin ABI for C++17: a class for each kind, exceptions that stop at the border, no library of ours.
 *
 * Derive a class from roundhouse::Kind for each kind, override the operations that it needs, and end the file with
 * ROUNDHOUSE_PLUGIN("name", "1.0.0", FirstJob, SecondJob). The rules of roundhouse/plugin.h hold: an operation answers
 * from the view alone, does no I/O, and keeps nothing. So operations are const, and a kind has no data that changes.
 *
 * Errors: an operation throws. roundhouse::Failure carries a status; any other exception fails the operation with
 * RH_EPLUGIN and its what(); std::bad_alloc is RH_ENOMEM. No exception reaches the host.
 *
 * Memory: text that a view returns is borrowed from the host and valid until the operation returns. Nothing in this
 * header allocates, but address() and what exceptions hold.
 *
 * Link with the version script that roundhouse_add_plugin() and `pkg-config --libs roundhouse-plugin` name: C++ makes
 * weak symbols of templates and inline functions, and a plugin exports its entry function alone.
 */
#ifndef ROUNDHOUSE_PLUGIN_HPP
#define ROUNDHOUSE_PLUGIN_HPP

#if __cplusplus < 201703L
#error "roundhouse/plugin.hpp needs C++17"
#endif

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "roundhouse/plugin.h"

namespace roundhouse
{

/** A text that ends with a zero byte, borrowed: what services take and return. */
class Text : public std::string_view
{
  public:
	/** @param text zero-terminated, not NULL; borrowed */
	constexpr Text(const char *text) : std::string_view(text)
	{
	}
	/** @param text borrowed: it must outlive this */
	Text(const std::string &text) : std::string_view(text.c_str())
	{
	}
	/** @return the same text, zero-terminated */
	constexpr const char *c_str() const noexcept
	{
		return data();
	}
};

/** A number as text, without an allocation. */
class Number
{
  public:
	explicit Number(std::int64_t value) noexcept
	{
		*std::to_chars(digits_, digits_ + sizeof(digits_) - 1, value).ptr = '\0';
	}
	/** @return the digits, valid as long as this */
	operator Text() const noexcept
	{
		return Text(digits_);
	}

  private:
	char digits_[24];
};

/** What an operation throws to give up with a status of its choice. */
class Failure : public std::runtime_error
{
  public:
	/** @param code a negative enum rh_status: RH_EINVAL where the user must change the job, RH_EAGAIN for a retry */
	Failure(std::int32_t code, const std::string &message) : std::runtime_error(message), code_(code)
	{
	}
	/** @return the status */
	std::int32_t code() const noexcept
	{
		return code_;
	}

  private:
	std::int32_t code_;
};

/** What is thrown where a service of the host failed: it has its own message, and the status is passed on. */
class ServiceError : public std::exception
{
  public:
	explicit ServiceError(std::int32_t code) noexcept : code_(code)
	{
	}
	/** @return the status of the service */
	std::int32_t code() const noexcept
	{
		return code_;
	}
	const char *what() const noexcept override
	{
		return "a service of the host failed";
	}

  private:
	std::int32_t code_;
};

/** @return a replica type of that name, of which a job has one by default, and any number */
constexpr rh_replica_type replica_type(const char *name, std::uint32_t flags = 0, std::int32_t min_replicas = 0,
                                       std::int32_t max_replicas = 0)
{
	rh_replica_type made = {};

	made.head = RH_HEAD(rh_replica_type);
	made.name = name;
	made.default_replicas = 1;
	made.min_replicas = min_replicas;
	made.max_replicas = max_replicas;
	made.flags = flags;
	return made;
}

/**
 * @return the description of a kind with what every kind needs; version is "v1", the default restart policy "Never".
 * The caller sets plural, singular, framework, controller and replicas_field, and what else its kind has
 * @param types NULL-terminated, in start order; static storage, as all texts
 */
constexpr rh_kind kind_of(const char *group, const char *kind, const rh_replica_type *const *types)
{
	rh_kind made = {};

	made.head = RH_HEAD(rh_kind);
	made.group = group;
	made.version = "v1";
	made.kind = kind;
	made.types = types;
	made.restart_policy = "Never";
	return made;
}

/** Whether a host has a service of 1.2. */
inline void need_service(bool has)
{
	if (!has)
		throw Failure(RH_EPLUGIN, "needs a host of ABI 1.2");
}

/** What there is of an object that a job names. */
enum class Lookup : std::int32_t {
	found = RH_LOOKUP_FOUND,    /**< the object exists */
	absent = RH_LOOKUP_ABSENT,  /**< it does not, or it is not looked for */
	unnamed = RH_LOOKUP_UNNAMED /**< the job names none */
};

/** One job at one moment. Lives as long as the operation. The functions are those of struct rh_services. */
class View
{
  public:
	View(const rh_services &services, const rh_view *view) noexcept : services_(services), view_(view)
	{
	}

	/** @return a string, or a printed number or boolean; nothing when absent, null, a map or a list */
	std::optional<Text> text(Text path) const
	{
		return optional(services_.text(view_, path.c_str()));
	}
	/** @return an integer; nothing when absent, null or another type */
	std::optional<std::int64_t> integer(Text path) const
	{
		std::int64_t value = 0;

		return services_.integer(view_, path.c_str(), &value) == 1 ? std::optional(value) : std::nullopt;
	}
	/** @return whether true stands at @p path */
	bool boolean(Text path) const
	{
		return services_.boolean(view_, path.c_str()) == 1;
	}
	/** @return the number of items or members; nothing when absent, null or a scalar */
	std::optional<std::int32_t> size(Text path) const
	{
		return count(services_.size(view_, path.c_str()));
	}
	/** @return any value as JSON; nothing when absent */
	std::optional<Text> json(Text path) const
	{
		return optional(services_.json(view_, path.c_str()));
	}
	/** @return @p text as a JSON string, with its quotes */
	Text quote(Text text) const
	{
		return required(services_.quote(view_, text.c_str()));
	}
	/** @return a setting of this plugin: section [plugin NAME] of the configuration; nothing when unset */
	std::optional<Text> setting(Text key) const
	{
		return optional(services_.setting(view_, key.c_str()));
	}

	/** Since 1.2: @return key number @p place of the map at @p path; nothing after the last */
	std::optional<Text> key(Text path, std::uint32_t place) const
	{
		need_service(RH_HAS(&services_, rh_services, key));
		return optional(services_.key(view_, path.c_str(), place));
	}
	/** Since 1.2: @return the path of the member @p key of the map at @p path, whatever is in the key */
	Text member(Text path, Text key) const
	{
		need_service(RH_HAS(&services_, rh_services, member));
		return required(services_.member(view_, path.c_str(), key.c_str()));
	}
	/**
	 * Since 1.2: what there is of the object that the entry @p name of rh_kind.lookups means; its values are at paths
	 * that begin with "@NAME.". Throws Failure when the kind has no such entry.
	 */
	Lookup lookup(Text name) const
	{
		need_service(RH_HAS(&services_, rh_services, lookup));
		const std::int32_t found = services_.lookup(view_, name.c_str());

		return found > 0 ? static_cast<Lookup>(found)
		                 : throw Failure(RH_EPLUGIN, "the kind has no lookup \"" + std::string(name) + "\"");
	}

	/** @return replica type number @p place of the job; nothing after the last */
	std::optional<Text> type(std::uint32_t place) const
	{
		return optional(services_.type(view_, place));
	}
	/** @return the replicas that the job wants, defaults applied; nothing when it has no such type */
	std::optional<std::int32_t> replicas(Text type) const
	{
		return count(services_.replicas(view_, type.c_str()));
	}
	/** @return "Always", "OnFailure", "Never" or "ExitCode"; nothing when there is no such type */
	std::optional<Text> restart_policy(Text type) const
	{
		return optional(services_.restart_policy(view_, type.c_str()));
	}
	/** @return the name of a replica's pod; throws Failure when there is no such type */
	Text pod_name(Text type, std::int32_t index) const
	{
		return of_type(services_.pod_name(view_, type.c_str(), index), type);
	}
	/** @return where a replica is reached; throws Failure when there is no such type */
	Text host(Text type, std::int32_t index) const
	{
		return of_type(services_.host(view_, type.c_str(), index), type);
	}
	/** @return the number of the port rh_kind.port_name there; throws Failure when there is no such type */
	std::int32_t port(Text type, std::int32_t index) const
	{
		const std::int32_t number = services_.port(view_, type.c_str(), index);

		return number > 0 ? number : throw no_type(type);
	}
	/** @return "HOST:PORT" of a replica, a text of its own; throws Failure when there is no such type */
	std::string address(Text type, std::int32_t index) const
	{
		const Number number(port(type, index));

		return std::string(host(type, index)).append(":").append(Text(number));
	}

	/** @return whether replicas are reached by address, on one machine */
	bool is_local() const
	{
		return (services_.state(view_) & RH_STATE_LOCAL) != 0;
	}
	/** @return whether the job is suspended, or is to be */
	bool is_suspended() const
	{
		return (services_.state(view_) & RH_STATE_SUSPENDED) != 0;
	}
	/** @return whether the job has succeeded or failed */
	bool is_finished() const
	{
		return (services_.state(view_) & RH_STATE_FINISHED) != 0;
	}
	/** @return how often all replicas were restarted together: 0 for the first attempt */
	std::int32_t attempt() const
	{
		return services_.attempt(view_);
	}
	/** For judge(): @return how the replicas of a type do; nothing when the job has no such type. ready is -1
	 * before 1.2 */
	std::optional<rh_counts> counts(Text type) const
	{
		rh_counts found = {};

		found.head = RH_HEAD(rh_counts);
		found.ready = -1;
		return services_.counts(view_, type.c_str(), &found) == 1 ? std::optional(found) : std::nullopt;
	}
	/** For judge() and objects(): @return how one replica does; nothing when there is none, or nothing was observed */
	std::optional<rh_replica_state> replica(Text type, std::int32_t index) const
	{
		rh_replica_state found = {};

		found.head = RH_HEAD(rh_replica_state);
		found.exit_code = -1;
		found.ready = -1;
		return services_.replica(view_, type.c_str(), index, &found) == 1 ? std::optional(found) : std::nullopt;
	}
	/** For judge(): @return whether the job's condition @p type is True */
	bool condition(Text type) const
	{
		return services_.condition(view_, type.c_str()) == 1;
	}

  private:
	static std::optional<Text> optional(const char *text)
	{
		return text ? std::optional<Text>(text) : std::nullopt;
	}
	static std::optional<std::int32_t> count(std::int32_t number)
	{
		return number >= 0 ? std::optional(number) : std::nullopt;
	}
	static Text required(const char *text)
	{
		return text ? Text(text) : throw std::bad_alloc();
	}
	/* NULL is a lack of memory, too, and the host then fails the call itself */
	static Text of_type(const char *text, Text type)
	{
		return text ? Text(text) : throw no_type(type);
	}
	static Failure no_type(Text type)
	{
		return Failure(RH_EPLUGIN, "the job has no replica type \"" + std::string(type) + "\"");
	}

	const rh_services &services_;
	const rh_view *view_;
};

/** What every answer can hold. Each function throws ServiceError where the host refuses it. */
class Reply
{
  public:
	Reply(const rh_services &services, rh_reply *reply) noexcept : services_(services), reply_(reply)
	{
	}
	Reply(const Reply &) = delete;
	Reply &operator=(const Reply &) = delete;

	/** Add a log line: RH_NOTE_DEBUG, RH_NOTE_INFO or RH_NOTE_WARN, which in validate() is a warning for users. */
	void note(std::int32_t level, Text text)
	{
		check(services_.note(reply_, level, text.c_str()));
	}

  protected:
	/** Throw unless the service succeeded. */
	static void check(std::int32_t code)
	{
		if (code < 0)
			throw ServiceError(code);
	}
	const rh_services &services_; /**< of the host */
	rh_reply *reply_;             /**< of this call */
};

/** The answer of validate(). */
class Findings : public Reply
{
  public:
	using Reply::Reply;

	/** Refuse the job: @p detail in the words of Kubernetes, "Forbidden: must be 1". May be called several times. */
	void refuse(Text path, Text detail)
	{
		check(services_.refuse(reply_, path.c_str(), detail.c_str()));
	}
	/** Warn the user, who may leave it so. */
	void warn(Text text)
	{
		note(RH_NOTE_WARN, text);
	}
};

/** The answer of pod(). */
class Pod : public Reply
{
  public:
	using Reply::Reply;

	/** Append a variable to every regular container. */
	void env(Text name, Text value)
	{
		check(services_.env(reply_, nullptr, name.c_str(), value.c_str()));
	}
	/** The same for a number. */
	void env(Text name, std::int64_t value)
	{
		env(name, Text(Number(value)));
	}
	/** Append a variable to one container. */
	void env_of(Text container, Text name, Text value)
	{
		check(services_.env(reply_, container.c_str(), name.c_str(), value.c_str()));
	}
	/** Set what stands at @p path of the Pod; "[+]" appends to a list: "spec.initContainers[+]". */
	void edit(Text path, Text json)
	{
		check(services_.edit(reply_, path.c_str(), json.c_str()));
	}
};

/** The answer of objects(). */
class Objects : public Reply
{
  public:
	using Reply::Reply;

	/** Name an object that the job needs, as JSON with apiVersion, kind and metadata.name. */
	void add(Text json)
	{
		check(services_.object(reply_, json.c_str()));
	}
	/**
	 * Since 1.2: name one that is not compared or not deleted. @param flags RH_OBJECT_* @param random_bytes of an
	 * object that is made once, by make(), from so many bytes; 0: it is made as named
	 */
	void add(Text json, std::uint32_t flags, std::uint32_t random_bytes = 0)
	{
		rh_object_options options = {};

		need_service(RH_HAS(&services_, rh_services, object_with));
		options.head = RH_HEAD(rh_object_options);
		options.flags = flags;
		options.random_bytes = random_bytes;
		check(services_.object_with(reply_, json.c_str(), &options));
	}
};

/** The answer of make(). */
class Made : public Reply
{
  public:
	using Reply::Reply;

	/** The object, with the apiVersion, kind and name that were asked for; once. */
	void give(Text json)
	{
		check(services_.object(reply_, json.c_str()));
	}
};

/** The answer of expand(): replica types, or a refusal. */
class Expansion : public Reply
{
  public:
	using Reply::Reply;

	/** The replica types, as JSON; once. */
	void give(Text json)
	{
		need_service(RH_HAS(&services_, rh_services, expansion));
		check(services_.expansion(reply_, json.c_str()));
	}
	/** Refuse the job, as in validate(). */
	void refuse(Text path, Text detail)
	{
		check(services_.refuse(reply_, path.c_str(), detail.c_str()));
	}
};

/** The answer of judge(). */
class Verdicts : public Reply
{
  public:
	using Reply::Reply;

	/** The job runs. @param message for the condition; NULL here and below: the core's words */
	void running(const char *message = nullptr)
	{
		check(services_.verdict(reply_, RH_VERDICT_RUNNING, nullptr, message));
	}
	/** The job is done. */
	void succeeded(const char *message = nullptr)
	{
		check(services_.verdict(reply_, RH_VERDICT_SUCCEEDED, nullptr, message));
	}
	/** The job has failed. @param type the replica type that causes it */
	void failed(Text type, const char *message = nullptr)
	{
		check(services_.verdict(reply_, RH_VERDICT_FAILED, type.c_str(), message));
	}
	/** Replicas are being restarted. @param type the replica type that causes it */
	void restarting(Text type, const char *message = nullptr)
	{
		check(services_.verdict(reply_, RH_VERDICT_RESTARTING, type.c_str(), message));
	}
	/**
	 * Since 1.2, like all that follow: a verdict with the reason of its condition, "Evicted".
	 * @param verdict RH_VERDICT_*; @param type the replica type that causes it, or NULL
	 */
	void conclude(std::int32_t verdict, const char *type, Text reason, const char *message = nullptr)
	{
		need_service(RH_HAS(&services_, rh_services, conclude));
		check(services_.conclude(reply_, verdict, type, reason.c_str(), message));
	}
	/** Create no pod for a replica now; @p index -1: for none of the type. @param reason for people */
	void hold(Text type, std::int32_t index, Text reason)
	{
		need_service(RH_HAS(&services_, rh_services, hold));
		check(services_.hold(reply_, type.c_str(), index, reason.c_str()));
	}
	/** Set a member of status that rh_kind.status_schema declares; "null" removes it. */
	void status(Text field, Text json)
	{
		need_service(RH_HAS(&services_, rh_services, status));
		check(services_.status(reply_, field.c_str(), json.c_str()));
	}
	/** Restart the whole job. @param flags RH_RESTART_*; @param token NULL: each time that it is said */
	void restart_all(std::uint32_t flags = 0, const char *token = nullptr, const char *message = nullptr)
	{
		restart(nullptr, -1, flags, token, message);
	}
	/** Restart all replicas of a type, together. */
	void restart_type(Text type, std::uint32_t flags = 0, const char *token = nullptr, const char *message = nullptr)
	{
		restart(type.c_str(), -1, flags, token, message);
	}
	/** Restart one replica. */
	void restart_replica(Text type, std::int32_t index, std::uint32_t flags = 0, const char *message = nullptr)
	{
		restart(type.c_str(), index, flags, nullptr, message);
	}

  private:
	void restart(const char *type, std::int32_t index, std::uint32_t flags, const char *token, const char *message)
	{
		need_service(RH_HAS(&services_, rh_services, restart));
		check(services_.restart(reply_, type, index, flags, token, message));
	}
};

/** What judge() leaves to the core. */
enum class Judgement {
	complete, /**< the verdicts are the whole answer */
	core      /**< the core adds what it would answer itself */
};

/**
 * A kind of jobs. A class that derives from it is default-constructible, has no data that changes, and overrides what
 * its framework needs; what none of a plugin's classes overrides the core answers alone.
 */
class Kind
{
  public:
	Kind() = default;
	Kind(const Kind &) = delete;
	Kind &operator=(const Kind &) = delete;
	virtual ~Kind() = default;

	/** @return the description, static storage; see kind_of() */
	virtual const rh_kind &describe() const = 0;
	/** Called once, before the other operations: throw where the host lacks a service that the kind needs. */
	virtual void start(const rh_services &) const
	{
	}
	/** Refuse what this framework cannot run, beyond what describe() says. */
	virtual void validate(const View &, Findings &) const
	{
	}
	/** Add to the pod of one replica what its processes need to find each other. */
	virtual void pod(const View &, const rh_replica &, Pod &) const
	{
	}
	/** Name the further objects that the job needs now. */
	virtual void objects(const View &, Objects &) const
	{
	}
	/** Say what the counts mean. */
	virtual Judgement judge(const View &, Verdicts &) const
	{
		return Judgement::core;
	}
	/** Since 1.2: make an object that objects() named with random bytes, of these alone. */
	virtual void make(const View &, const rh_made &, Made &) const
	{
		throw Failure(RH_EPLUGIN, "the kind makes no objects");
	}
	/** Since 1.2: give the replica types of a job, for a kind with RH_KIND_EXPANDED. */
	virtual void expand(const View &, Expansion &) const
	{
		throw Failure(RH_EPLUGIN, "the kind gives no replica types");
	}
};

/** What ROUNDHOUSE_PLUGIN needs; not for plugins. */
namespace detail
{

/** Fail the operation with a message. @return @p code */
inline std::int32_t fail(const rh_services &services, rh_reply *reply, std::int32_t code, const char *text) noexcept
{
	return services.fail(reply, code < 0 ? code : RH_EPLUGIN, text);
}

/** Turn the exception that is being handled into a status: here exceptions end. */
inline std::int32_t caught(const rh_services &services, rh_reply *reply) noexcept
{
	try {
		throw;
	} catch (const ServiceError &error) {
		return error.code();
	} catch (const Failure &error) {
		return fail(services, reply, error.code(), error.what());
	} catch (const std::bad_alloc &) {
		return fail(services, reply, RH_ENOMEM, "out of memory");
	} catch (const std::exception &error) {
		return fail(services, reply, RH_EPLUGIN, error.what());
	} catch (...) {
		return fail(services, reply, RH_EPLUGIN, "an exception that is not a std::exception");
	}
}

/** The operations of a plugin that serves these kinds, as the ABI wants them. */
template <class... Kinds> class Operations
{
	static_assert(sizeof...(Kinds) > 0, "a plugin serves at least one kind");
	static_assert((std::is_base_of_v<Kind, Kinds> && ...), "a kind derives from roundhouse::Kind");

	template <class T> static const Kind &instance()
	{
		static const T made;

		return made;
	}
	static const Kind &kind(std::size_t index)
	{
		using Make = const Kind &(*)();
		static constexpr Make makers[] = {instance<Kinds>...};

		return makers[index]();
	}
	/* Which kind the job of a view is of; with one kind there is no question. */
	static const Kind &kind_of_job(const View &view)
	{
		if constexpr (sizeof...(Kinds) > 1) {
			const std::optional<Text> name = view.text("kind");

			for (std::size_t i = 0; name && i < sizeof...(Kinds); i++) {
				if (*name == kind(i).describe().kind)
					return kind(i);
			}
			throw Failure(RH_EPLUGIN, "the job is of a kind that this plugin does not serve");
		}
		return kind(0);
	}
	template <class Answer, class Call>
	static std::int32_t answer(void *self, const rh_view *view, rh_reply *reply, Call call) noexcept
	{
		const rh_services &services = *static_cast<const rh_services *>(self);

		try {
			const View seen(services, view);
			Answer made(services, reply);

			return call(kind_of_job(seen), seen, made);
		} catch (...) {
			return caught(services, reply);
		}
	}

  public:
	/* Whether one of the kinds has its own operation; the others' then does what the core does by default. */
	static constexpr bool validates = (!std::is_same_v<decltype(&Kinds::validate), decltype(&Kind::validate)> || ...);
	static constexpr bool edits = (!std::is_same_v<decltype(&Kinds::pod), decltype(&Kind::pod)> || ...);
	static constexpr bool adds = (!std::is_same_v<decltype(&Kinds::objects), decltype(&Kind::objects)> || ...);
	static constexpr bool judges = (!std::is_same_v<decltype(&Kinds::judge), decltype(&Kind::judge)> || ...);
	static constexpr bool makes = (!std::is_same_v<decltype(&Kinds::make), decltype(&Kind::make)> || ...);
	static constexpr bool expands = (!std::is_same_v<decltype(&Kinds::expand), decltype(&Kind::expand)> || ...);

	static std::int32_t init(const rh_services *services, void **ret_self, rh_reply *reply) noexcept
	{
		try {
			for (std::size_t i = 0; i < sizeof...(Kinds); i++)
				kind(i).start(*services);
		} catch (...) {
			return caught(*services, reply);
		}
		/* the services are all that operations need; nobody writes to them */
		*ret_self = const_cast<rh_services *>(services);
		return RH_OK;
	}
	static const rh_kind *describe(void *, std::uint32_t index) noexcept
	{
		try {
			return index < sizeof...(Kinds) ? &kind(index).describe() : nullptr;
		} catch (...) {
			return nullptr;
		}
	}
	static std::int32_t validate(void *self, const rh_view *view, rh_reply *reply) noexcept
	{
		return answer<Findings>(self, view, reply, [](const Kind &kind, const View &seen, Findings &made) {
			kind.validate(seen, made);
			return std::int32_t{RH_OK};
		});
	}
	static std::int32_t pod(void *self, const rh_view *view, const rh_replica *me, rh_reply *reply) noexcept
	{
		return answer<Pod>(self, view, reply, [me](const Kind &kind, const View &seen, Pod &made) {
			kind.pod(seen, *me, made);
			return std::int32_t{RH_OK};
		});
	}
	static std::int32_t objects(void *self, const rh_view *view, rh_reply *reply) noexcept
	{
		return answer<Objects>(self, view, reply, [](const Kind &kind, const View &seen, Objects &made) {
			kind.objects(seen, made);
			return std::int32_t{RH_OK};
		});
	}
	static std::int32_t judge(void *self, const rh_view *view, rh_reply *reply) noexcept
	{
		return answer<Verdicts>(self, view, reply, [](const Kind &kind, const View &seen, Verdicts &made) {
			return std::int32_t{kind.judge(seen, made) == Judgement::core ? RH_DEFAULT : RH_OK};
		});
	}
	static std::int32_t make(void *self, const rh_view *view, const rh_made *request, rh_reply *reply) noexcept
	{
		return answer<Made>(self, view, reply, [request](const Kind &kind, const View &seen, Made &made) {
			kind.make(seen, *request, made);
			return std::int32_t{RH_OK};
		});
	}
	static std::int32_t expand(void *self, const rh_view *view, rh_reply *reply) noexcept
	{
		return answer<Expansion>(self, view, reply, [](const Kind &kind, const View &seen, Expansion &made) {
			kind.expand(seen, made);
			return std::int32_t{RH_OK};
		});
	}
};

/** @return the table of a plugin */
template <class... Kinds> constexpr rh_plugin table(const char *name, const char *release, const char *settings)
{
	using Made = Operations<Kinds...>;
	rh_plugin made = {};

	made.head = RH_HEAD(rh_plugin);
	made.name = name;
	made.release = release;
	made.init = Made::init;
	made.describe = Made::describe;
	made.validate = Made::validates ? Made::validate : nullptr;
	made.pod = Made::edits ? Made::pod : nullptr;
	made.objects = Made::adds ? Made::objects : nullptr;
	made.judge = Made::judges ? Made::judge : nullptr;
	made.settings = settings;
	made.make = Made::makes ? Made::make : nullptr;
	made.expand = Made::expands ? Made::expand : nullptr;
	return made;
}

} // namespace detail
} // namespace roundhouse

/**
 * Defines the entry function: a plugin of that name and release that serves these kinds and has no settings. Once in a
 * plugin, outside any namespace.
 */
#define ROUNDHOUSE_PLUGIN(name, release, ...) ROUNDHOUSE_PLUGIN_WITH_SETTINGS(name, release, "{}", __VA_ARGS__)

/** The same with settings: the JSON text of rh_plugin.settings. */
#define ROUNDHOUSE_PLUGIN_WITH_SETTINGS(name, release, settings, ...)                                                \
	extern "C" RH_PLUGIN_EXPORT const rh_plugin *rh_plugin_entry_v1(void)                                            \
	{                                                                                                                \
		static constexpr rh_plugin plugin = ::roundhouse::detail::table<__VA_ARGS__>((name), (release), (settings)); \
                                                                                                                     \
		return &plugin;                                                                                              \
	}

#endif
