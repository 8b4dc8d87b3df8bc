"""The main job as a Python developer has it, and a lease that is still live at its end: `python main_job.py SITE`, prints both as JSON."""

import json
import os
import sys

from omicron_browser import BrowserSessions

site = sys.argv[1]
login = {"username": "ada@example.com", "password": "analytical-engine-1843"}

with BrowserSessions(os.environ["OMICRON_CONTROLLER_URL"], os.environ["OMICRON_SERVICE_JWT_SECRET"]) as sessions:
    sessions.put_policy({"version": 1, "sites": {"ports": [int(site.rsplit(":", 1)[1])]}})
    sessions.put_credential("ada", "bakery", login)
    with sessions.connect("ada", "chat-1", require_credentials=True) as browser:
        browser.call_tool("browser_navigate", {"url": f"{site}/login"})
        fields = [
            {"name": "E-mail", "type": "textbox", "target": "#username", "value": "BAKERY_USERNAME"},
            {"name": "Password", "type": "textbox", "target": "#password", "value": "BAKERY_PASSWORD"},
        ]
        browser.call_tool("browser_fill_form", {"fields": fields})
        browser.call_tool("browser_click", {"element": "Log in", "target": "#submit"})
        orders = browser.call_tool("browser_snapshot").text
    with sessions.connect("ada", "chat-1") as again:
        tabs = again.call_tool("browser_tabs", {"action": "list"}).text
    print(json.dumps({"mcp_url": again.lease.mcp_url, "session_id": again.lease.session_id, "orders": orders, "tabs": tabs}))
