import { PROTECTIONS, quoteArgument } from "#agent/unit";

/**
 * Returns the server's systemd unit, without any right that it does not need: its own account, made by systemd, data in
 * /var/lib/certitude, configuration in /etc/certitude/environment.
 */
export const renderService = (program: string) => `# certitude install --print > /etc/systemd/system/certitude.service
# systemctl daemon-reload && systemctl enable --now certitude
# Configuration, one NAME=value a line, readable by root alone: /etc/certitude/environment (certitude serve --help lists the names).
# For https, name its files there; an agent of ours may keep them. The key's group needs an account that stays: useradd --system certitude
#   TLS_CERT=/etc/certitude/tls.pem and TLS_KEY=/etc/certitude/tls.key, owned by root:certitude, mode 0640
[Unit]
Description=Certitude: certificates and compliance
Wants=network-online.target
After=network-online.target postgresql.service

[Service]
Type=exec
ExecStart=${quoteArgument(program)} serve
EnvironmentFile=-/etc/certitude/environment
Environment=DATA_DIR=/var/lib/certitude
WorkingDirectory=/var/lib/certitude
Restart=on-failure
RestartSec=5
# Wrong configuration: another start mends nothing.
RestartPreventExitStatus=2
TimeoutStartSec=300
TimeoutStopSec=30
LimitNOFILE=65536
LimitCORE=0

User=certitude
DynamicUser=yes
StateDirectory=certitude
StateDirectoryMode=0700
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
${PROTECTIONS}
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
LockPersonality=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
