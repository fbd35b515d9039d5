"""Subscribes with a client that was generated from the OpenAPI document.

    generated_client.py URL CALLBACK ID...

The ids are those of subscriptions of all types. Fails by an exception.
"""

import sys

from client import Client
from client.api.subscriptions import (
    subscriptions_delete_subscriptionid as delete,
    subscriptions_get as get_list,
    subscriptions_get_subscriptionid as get,
    subscriptions_post as post,
    subscriptions_put_subscriptionid as put,
)
from client.models import CellChangeSubscription, Ecgi, FilterCriteriaAssocHo, HoStatus, Plmn, Problem, SubscriptionLinkList

url, callback, *ids = sys.argv[1:]
client = Client(base_url=url)

# a union of types is read as the type that subscriptionType names
read = [get.sync(int(key), client=client) for key in ids]
assert [type(one).__name__ for one in read] == [one.subscription_type for one in read], read
assert len({type(one) for one in read}) == 9, read

cells = [Ecgi(plmn=Plmn(mcc="001", mnc="01"), cell_id="000000001")]
criteria = FilterCriteriaAssocHo(ecgi=cells, ho_status=[HoStatus(3)])
body = CellChangeSubscription(
    subscription_type="CellChangeSubscription",
    callback_reference=callback,
    request_test_notification=True,
    filter_criteria_assoc_ho=criteria,
)
created = post.sync(client=client, body=body)
assert isinstance(created, CellChangeSubscription), created
assert created.filter_criteria_assoc_ho == criteria, created
key = int(created.field_links.self_.href.rsplit("/", 1)[1])

created.request_test_notification = False
created.filter_criteria_assoc_ho.ho_status = [HoStatus(1), HoStatus(3)]
changed = put.sync(key, client=client, body=created)
assert changed == get.sync(key, client=client), changed
links = get_list.sync(client=client)
assert isinstance(links, SubscriptionLinkList), links
assert len(links.field_links.subscription) == 10, links

# a refusal is a value of its own type
body.callback_reference = "ftp://127.0.0.1/"
refused = post.sync(client=client, body=body)
assert isinstance(refused, Problem) and refused.status == 422, refused
assert delete.sync(key, client=client) is None
assert isinstance(get.sync(key, client=client), Problem)
print("ok")
