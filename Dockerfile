# A static spdl in an image with nothing else: no shell, no root.
FROM golang:1.25 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/spdl/spdl/abci/version.Version=${VERSION}" -o /spdl ./cmd/spdl \
 && go run ./cmd/internal/notices /NOTICES.md /NOTICES.txt \
 && mkdir /home-of-spdl

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /spdl /usr/local/bin/spdl
COPY --from=build /src/LICENSE /NOTICES.txt /usr/share/doc/spdl/
COPY --from=build --chown=65532:65532 /home-of-spdl /spdl
ENV SPDL_HOME=/spdl
USER 65532:65532
VOLUME ["/spdl"]
# p2p, RPC, Prometheus
EXPOSE 26656 26657 26660
STOPSIGNAL SIGTERM
# Healthy while the node answers.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["/usr/local/bin/spdl", "query", "status"]
ENTRYPOINT ["/usr/local/bin/spdl"]
CMD ["start"]
