from __future__ import annotations
import os
from pathlib import Path
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import sync_playwright
from datetime import timedelta
from tests.factories.notifications import Row, insert
from tests.factories.tenants import TenantFactory, api_key
from tests.factories.templates import DraftFactory, TemplateFactory
from notifications.statuses import DeliveryStatus as S
from providers.channels import Channel
from tenants.models import StaffMembership
from tests.acme import Api

OUT = Path("/tmp/shots_admin"); OUT.mkdir(exist_ok=True)

@pytest.mark.timeout(600)
def test_shots(live_server, acme, api, consume, clock):
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    globex = TenantFactory(slug="globex", name="Globex")
    root = User.objects.create_superuser("root", password="a long password")
    ann = User.objects.create_user("ann", password="a long password", is_staff=True, first_name="Ann", last_name="Nguyen")
    StaffMembership.objects.create(user=ann, tenant=acme, role="operator")
    people = ["transient+2@simulate.example","account-fault@simulate.example","timeout@simulate.example","permanent@simulate.example","an.nguyen@example.org"]
    for n in range(30):
        a = api.submit(idempotency_key=f"k{n:04}aaaa", channels=["email","in_app"] if n % 2 else ["email"], recipient={"user_id": f"usr_{n}", "email": people[n % 5]})
        assert a.status_code == 202, a.content
    consume()
    clock.advance(timedelta(hours=1)); consume()
    now = clock.now()
    for n in range(12):
        insert(Row(status=[S.DEAD,S.DEAD,S.PARKED,S.SENT,S.SUPPRESSED][n%5], tenant_id=acme.pk if n%3 else globex.pk, reason=["window_over","attempts_used_up","account","",""][n%5], channel=list(Channel)[n%3], attempt_count=n%4, maybe_sent=n%7==0, expires_at= None))
    DraftFactory(template=TemplateFactory(tenant=acme, name="welcome", description="Greets who has just signed up"), sample={"name": "Ann"})
    api_key(acme, service="chat", is_test=True)
    from tests.acme import query
    ntf = query("SELECT notification_id FROM delivery d WHERE tenant_id=%s AND attempt_count > 1 AND status='sent' LIMIT 1", acme.pk)
    ids = dict(
        ntf=(ntf or query("SELECT notification_id FROM delivery LIMIT 1"))[0]["notification_id"],
        dlv=query("SELECT id FROM delivery WHERE maybe_sent AND tenant_id=%s LIMIT 1", acme.pk)[0]["id"],
        dead=query("SELECT delivery_id AS id FROM dead_letter WHERE tenant_id=%s LIMIT 1", acme.pk)[0]["id"],
        sbx=query("SELECT id FROM sandbox_message WHERE channel=1 LIMIT 1")[0]["id"],
        key=query("SELECT id FROM api_key LIMIT 1")[0]["id"],
        tpl=query("SELECT template_id AS id FROM template_version WHERE status='approved' LIMIT 1")[0]["id"],
        ver=query("SELECT id FROM template_version WHERE status='approved' LIMIT 1")[0]["id"],
        draft=query("SELECT id FROM template_version WHERE status='draft' LIMIT 1")[0]["id"],
        content=query("SELECT c.id FROM template_content c JOIN template_version v ON v.id=version_id WHERE v.status='draft' AND channel=1 LIMIT 1")[0]["id"],
        acontent=query("SELECT c.id FROM template_content c JOIN template_version v ON v.id=version_id WHERE v.status='approved' LIMIT 1")[0]["id"],
        tenant=acme.pk,
    )
    with sync_playwright() as p:
        b = p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox","--disable-gpu"])
        for who in ["root"]:
            ctx = b.new_context(viewport={"width":1440,"height":900}); page = ctx.new_page()
            outside=[]; page.on("request", lambda r: outside.append(r.url) if not r.url.startswith((live_server.url,"data:","about:")) else None)
            page.on("console", lambda m: print(who, "CONSOLE", m.type, m.text, page.url) if m.type in ("error","warning") else None)
            page.on("pageerror", lambda e: print("PAGEERROR", e, page.url))
            page.on("response", lambda r: print("BAD", r.status, r.url) if r.status>=400 else None)
            page.goto(live_server.url+"/admin/login/")
            if who=="root": page.screenshot(path=OUT/"login.png")
            page.fill("[name=username]", who); page.fill("[name=password]", "a long password"); page.click("button[type=submit], input[type=submit]")
            page.wait_for_load_state(); assert page.url.endswith("/admin/"), page.url
            def shot(name, path, full=True):
                r = page.goto(live_server.url+"/admin/"+path); page.wait_for_timeout(150)
                assert r.status < 500, (path, r.status)
                page.screenshot(path=OUT/f"{who}_{name}.png", full_page=full)
            pages = [("index",""),("ntfs","notifications/notification/"),("ntf",f"notifications/notification/{ids['ntf']}/change/"),("dlvs","notifications/delivery/"),("dlv",f"notifications/delivery/{ids['dlv']}/change/"),("deads","notifications/deadletter/"),("dead",f"notifications/deadletter/{ids['dead']}/change/"),
             ("sbxs","providers/sandboxmessage/"),("sbx",f"providers/sandboxmessage/{ids['sbx']}/change/"),("audit","audit/auditevent/"),("tenants","tenants/tenant/"),("tenant",f"tenants/tenant/{ids['tenant']}/change/"),("keys","tenants/apikey/"),("key",f"tenants/apikey/{ids['key']}/change/"),
             ("staff","tenants/staffmembership/"),("tpls","templates/template/"),("tpl",f"templates/template/{ids['tpl']}/change/"),("vers","templates/templateversion/"),("ver",f"templates/templateversion/{ids['ver']}/change/"),("draft",f"templates/templateversion/{ids['draft']}/change/"),("content",f"templates/templatecontent/{ids['content']}/change/"),("acontent",f"templates/templatecontent/{ids['acontent']}/change/")]
            if who=="root": pages += [("tenantadd","tenants/tenant/add/"),("keyadd","tenants/apikey/add/"),("staffadd","tenants/staffmembership/add/"),("users","auth/user/"),("user",f"auth/user/{ann.pk}/change/"),("useradd","auth/user/add/"),("tpladd","templates/template/add/"),("contentadd",f"templates/templatecontent/add/?version={ids['draft']}")]
            pages=[x for x in pages if x[0] in ("ntf","dlv","dead","sbx","draft","audit")]
            for name, path in pages: shot(name, path)
            page.goto(live_server.url+f"/admin/templates/templateversion/{ids['draft']}/change/"); page.locator("iframe").scroll_into_view_if_needed(); page.wait_for_timeout(400); page.screenshot(path=OUT/"root_iframe.png")
            if who=="root":
                page.goto(live_server.url+"/admin/notifications/deadletter/")
                page.click("th input[type=checkbox]"); page.wait_for_timeout(200)
                page.screenshot(path=OUT/"root_deads_selected.png")
                page.select_option("select[name=action]", "replay_even_if_maybe_sent"); page.wait_for_timeout(100); page.click("button[name=index]"); page.wait_for_load_state()
                page.screenshot(path=OUT/"root_confirm.png")
                page.click("text=Replay all the same"); page.wait_for_load_state(); page.screenshot(path=OUT/"root_replayed.png")
                page.goto(live_server.url+"/admin/notifications/notification/?q=nothing"); page.screenshot(path=OUT/"root_search_none.png")
                page.goto(live_server.url+"/admin/tenants/apikey/add/"); page.select_option("[name=tenant]", str(acme.pk)); page.fill("[name=service]", "billing2"); page.select_option("[name=environment]","live"); page.check("[name=scopes] >> nth=0"); page.click("text=Save >> nth=0"); page.wait_for_load_state(); page.screenshot(path=OUT/"root_issued.png")
                page.set_viewport_size({"width":390,"height":844}); shot("m_deads","notifications/deadletter/", False); shot("m_dead",f"notifications/deadletter/{ids['dead']}/change/", False) if False else None
                shot("m_ntf",f"notifications/notification/{ids['ntf']}/change/", True)
            print(who, "outside:", outside)
            ctx.close()
        b.close()
