# The executable needs glibc and CA certificates, nothing else.
FROM oven/bun:1.4.5 AS build
WORKDIR /build
COPY package.json bun.lock bunfig.toml ./
COPY .patches .patches
RUN bun install --frozen-lockfile
COPY tsconfig.json ./
COPY drizzle drizzle
COPY src src
RUN bun run build && mkdir data

FROM gcr.io/distroless/base-debian12:nonroot
COPY --from=build /build/dist/certitude /usr/local/bin/certitude
# Empty, and owned by the user that runs the server, so that a new volume is too.
COPY --from=build --chown=nonroot:nonroot /build/data /data
USER nonroot
WORKDIR /data
ENV HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/usr/local/bin/certitude", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/certitude"]
CMD ["serve"]
