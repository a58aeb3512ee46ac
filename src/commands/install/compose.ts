/** Returns a compose file of the server and its Postgres, with as few rights as they need. Secrets come from the environment or `.env`. */
export const renderCompose = (release: string) => `# certitude install --print compose > compose.yaml
# The image is built from the Dockerfile of this release: docker build -t certitude:${release} .
# In .env beside this file, mode 0600 (each: openssl rand -base64 32):
#   POSTGRES_PASSWORD=… (openssl rand -hex 32: it stands in an address)
#   SECRETS_KEY=…
#   JWT_SECRET=…
services:
  certitude:
    image: certitude:${release}
    command: [serve]
    restart: unless-stopped
    depends_on:
      postgres:
        condition: service_healthy
    environment:
      HOST: 0.0.0.0
      DATABASE_URL: postgres://certitude:\${POSTGRES_PASSWORD:?is missing in .env}@postgres:5432/certitude
      SECRETS_KEY: \${SECRETS_KEY:?is missing in .env}
      JWT_SECRET: \${JWT_SECRET:?is missing in .env}
      PUBLIC_URL: \${PUBLIC_URL:-}
    ports:
      - "127.0.0.1:3000:3000"
    volumes:
      - data:/data
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    stop_grace_period: 30s
    healthcheck:
      test: [CMD, /usr/local/bin/certitude, healthcheck]
      interval: 10s
      timeout: 6s
      start_period: 60s
      retries: 3
  postgres:
    image: postgres:17
    restart: unless-stopped
    environment:
      POSTGRES_USER: certitude
      POSTGRES_DB: certitude
      POSTGRES_PASSWORD: \${POSTGRES_PASSWORD:?is missing in .env}
    volumes:
      - postgres:/var/lib/postgresql/data
    shm_size: 256m
    security_opt: ["no-new-privileges:true"]
    healthcheck:
      test: [CMD-SHELL, pg_isready --username certitude --dbname certitude]
      interval: 5s
      timeout: 5s
      retries: 12
volumes:
  data: {}
  postgres: {}
`;
