FROM node:24-slim AS dashboard
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY scripts/build-dashboard.ts scripts/
COPY src src
RUN npm run build

FROM node:24-slim

WORKDIR /app
# The optional dependencies are Node itself, for machines with an older one; this image has its own.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional && npm cache clean --force
COPY bin bin
COPY src src
COPY --from=dashboard /app/dist dist
COPY config config
COPY LICENSE README.md ./

# A first start, so that compiled code lies in the image: every later one takes half the time and 60 MB less.
RUN STERNA_DATA_DIR=/tmp/first-start timeout 5 node bin/sterna.js serve > /dev/null 2>&1; rm -rf /tmp/first-start \
  && test -d node_modules/.cache/compiled

RUN mkdir /data && chown node:node /data && chmod 700 /data
ENV NODE_ENV=production STERNA_DATA_DIR=/data
VOLUME /data
USER node

# 8080 HTTP, 2587 SMTP submission with STARTTLS, 2465 SMTP submission with TLS, 2525 what comes back
EXPOSE 8080 2587 2465 2525
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

# Not `npm start`: signals must reach Sterna itself, so that it can end what it has in hand.
CMD ["node", "bin/sterna.js", "serve"]
