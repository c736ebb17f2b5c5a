from __future__ import annotations

import random
import statistics
import time

import pytest
from django.db import connection

import foundation.statements as st
from foundation.ids import new_id
from preferences.address_keys import address_key, device_key
from preferences.models import *
from preferences.profiles import LOAD, load_profiles
from providers.channels import Channel
from tenants.data_keys import seal
from tests.factories.tenants import TenantFactory


@pytest.mark.timeout(600)
def test_bench(committed, owner):
    N = 2_000
    t = TenantFactory()
    Recipient.objects.bulk_create(
        [Recipient(tenant=t, user_id=f"usr_{n}", locale="vi") for n in range(N)],
        batch_size=5000,
    )
    ids = dict(Recipient.objects.values_list("user_id", "id"))
    addrs, devs, prefs = [], [], []
    for n in range(N):
        r = ids[f"usr_{n}"]
        for ch, v in ((1, f"usr_{n}@example.com"), (2, f"+8491{n:07d}")):
            i = new_id()
            s = seal(
                tenant_id=t.pk, table="address.normalised", row=i, plaintext=v.encode()
            )
            addrs.append(
                Address(
                    id=i,
                    recipient_id=r,
                    channel=ch,
                    typed=s,
                    normalised=s,
                    key=address_key(tenant_id=t.pk, channel=Channel(ch), value=v),
                )
            )
        i = new_id()
        devs.append(
            Device(
                id=i,
                tenant=t,
                recipient_id=r,
                platform="fcm",
                token=seal(
                    tenant_id=t.pk, table="device.token", row=i, plaintext=b"x" * 160
                ),
                key=device_key(tenant_id=t.pk, platform="fcm", token=f"tok{n}"),
            )
        )
        if n % 10 == 0:
            prefs.append(
                NotificationPreferences(
                    tenant=t, user_id=f"usr_{n}", version=1, opt_outs=["sms"]
                )
            )
    Address.objects.bulk_create(addrs, batch_size=5000)
    Device.objects.bulk_create(devs, batch_size=5000)
    NotificationPreferences.objects.bulk_create(prefs, batch_size=5000)
    owner.execute("VACUUM ANALYZE")

    def sample(k):
        return [(t.pk, f"usr_{random.randrange(N)}") for _ in range(k)]

    one=[(t.pk,"usr_5")]
    args=dict(tenant_ids=[t.pk],user_ids=["usr_5"],channels=[1,2,3,4])
    def m(name, f, reps=4000):
        for _ in range(20): f()
        w=time.perf_counter(); c=time.process_time()
        for _ in range(reps): f()
        print("one", name, "cpu us", round((time.process_time()-c)/reps*1e6), "wall", round((time.perf_counter()-w)/reps*1e6))
    m("load", lambda: load_profiles(one))
    m("load email", lambda: load_profiles(one, channels=[Channel.EMAIL]))
    def q(binary):
        with st.server_cursor() as c:
            c.execute(LOAD, args, binary=binary); c.fetchall()
    m("query text", lambda: q(False)); m("query bin", lambda: q(True))
    def q1():
        with st.server_cursor() as c:
            c.execute("SELECT 1"); c.fetchall()
    m("select 1", q1)
    def q2():
        with st.server_cursor() as c:
            c.execute("SELECT %(tenant_ids)s::bigint[], %(user_ids)s::text[], %(channels)s::smallint[]", args); c.fetchall()
    m("arrays", q2)
    def q3():
        with st.server_cursor() as c:
            c.execute("SELECT %s::bigint, %s::text", [5,"usr"]); c.fetchall()
    m("scalars", q3)
    return
    # phases for 500
    s = sample(500)
    for _ in range(3):
        with st.server_cursor() as c:
            a = time.perf_counter()
            c.execute(LOAD, [[p[0] for p in s], [p[1] for p in s]])
            b = time.perf_counter()
            rows = c.fetchall()
            d = time.perf_counter()
        print("execute", (b - a) * 1000, "fetch", (d - b) * 1000, len(rows))
    with connection.cursor() as c:
        c.execute("EXPLAIN ANALYZE " + LOAD, [[p[0] for p in s], [p[1] for p in s]])
        print("\n".join(r[0] for r in c.fetchall()))
    import cProfile
    import pstats

    pr = cProfile.Profile()
    pr.enable()
    for _ in range(5):
        load_profiles(s)
    pr.disable()
    pstats.Stats(pr).sort_stats("tottime").print_stats(14)
