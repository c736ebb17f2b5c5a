-- Run once by the image, as the superuser, when the volume is empty. The passwords come
-- from the container's environment, so that this file holds none.
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD

-- Neither is a superuser: the owner migrates, `app` runs the platform and owns nothing.
CREATE ROLE notify_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE app LOGIN PASSWORD :'app_password';
CREATE DATABASE notifications OWNER notify_owner;
