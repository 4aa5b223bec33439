import { startMailSystem, type MailSystem } from './mail-system.ts'

interface EximOptions {
  listen: { host: string; port: number }
  nameServer: string
  hostName: string
  /** Where TLS is spoken from the first byte. */
  tlsPort?: number
  /** Where it listens besides. */
  otherPort?: number
  /** Main options beside those that every one has. */
  main?: string
  /** The statements of the ACL for RCPT; all are accepted unless given. */
  atRcpt?: string
  /** The sections behind the ACLs, each from its `begin` on. */
  sections: string
  /** For TLS, in PEM; none is offered without it. */
  certificate?: { cert: string; key: string }
  /** Files below /etc that its options name, by path. */
  files?: Record<string, string>
  /** Run as root before it starts, beside what every one needs. */
  prepare?: string
}

/** Exim as Debian has it, with a configuration of its own. */
export function startExim(options: EximOptions): Promise<MailSystem> {
  const {
    listen,
    nameServer,
    hostName,
    tlsPort,
    otherPort,
    main = '',
    atRcpt = '  accept',
    sections,
    certificate,
    files,
    prepare = '',
  } = options
  const ports = [listen.port, tlsPort, otherPort].filter((port) => port !== undefined)
  const [certificateFile, keyFile] = ['/etc/exim4/tls.crt', '/etc/exim4/tls.key']
  const tls = certificate ? `tls_advertise_hosts = *\ntls_certificate = ${certificateFile}\ntls_privatekey = ${keyFile}` : ''
  const configuration = `
primary_hostname = ${hostName}
local_interfaces = ${listen.host}
daemon_smtp_ports = ${ports.join(' : ')}
tls_on_connect_ports = ${tlsPort ?? ''}
${tls}
spool_directory = /var/spool/exim4
log_file_path = /var/log/exim4/%s
host_lookup =
keep_environment =
acl_smtp_rcpt = at_rcpt
acl_smtp_data = accept_all
${main}
begin acl
at_rcpt:
${atRcpt}
accept_all:
  accept
${sections}
`
  return startMailSystem({
    listen,
    nameServer,
    unpackedFrom: 'exim4-daemon-light',
    users: ['Debian-exim'],
    files: {
      '/etc/exim4/exim4.conf': configuration,
      ...(certificate ? { [certificateFile]: certificate.cert, [keyFile]: certificate.key } : {}),
      ...files,
    },
    prepare: `
      mkdir -p /var/spool/exim4 /var/log/exim4 /var/mail
      ${prepare}
      chown Debian-exim:Debian-exim /var/spool/exim4 /var/log/exim4
      chown -R nobody:nogroup /var/mail`,
    command: ['/usr/sbin/exim4', '-bdf', '-q1s'],
    logFile: '/var/log/exim4/main',
  })
}
