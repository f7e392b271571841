/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

const struct rh_resource rh_resource_pods = {"v1", "Pod", "pods"};
const struct rh_resource rh_resource_services = {"v1", "Service", "services"};
const struct rh_resource rh_resource_events = {"v1", "Event", "events"};
