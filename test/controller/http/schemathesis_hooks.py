"""Gives schemathesis the platform's token: a fresh one for each request, because it is valid for a minute."""

import os
import time

import jwt
import schemathesis


@schemathesis.auth()
class ServiceToken:
    def get(self, _case, _context):
        claims = {"aud": "browser-session-controller", "exp": int(time.time()) + 60}
        return jwt.encode(claims, os.environ["OMICRON_SERVICE_JWT_SECRET"], "HS256")

    def set(self, case, data, _context):
        case.headers["Authorization"] = f"Bearer {data}"
