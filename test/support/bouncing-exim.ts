import { startMailSystem } from './mail-system.ts'
import type { MailSurroundings, MailSystem } from './mail-system.ts'

/**
 * Exim that takes all mail for `exim.example`, of which it knows no mailbox but `full`, and forwards `forwarded`. It hands on
 * what is for other domains, and returns what cannot be delivered within a second.
 */
export function startBouncingExim({ listen, nameServer, routes, forwardTo }: MailSurroundings): Promise<MailSystem> {
  const routeList = Object.entries(routes).map(([domain, { host, port }]) => `${domain} ${host}::${port}`).join(' ; ')
  const configuration = `
primary_hostname = mx.exim.example
local_interfaces = ${listen.host}
daemon_smtp_ports = ${listen.port}
spool_directory = /var/spool/exim4
log_file_path = /var/log/exim4/%s
host_lookup =
keep_environment =
dns_dnssec_ok = 0
acl_smtp_rcpt = accept_all
acl_smtp_data = accept_all
begin acl
accept_all:
  accept
begin routers
onward:
  driver = manualroute
  route_list = ${routeList}
  # Otherwise a message that loops is frozen, for a person to look at.
  self = send
  transport = remote
forward:
  driver = redirect
  domains = exim.example
  local_parts = forwarded
  data = ${forwardTo}
mailbox:
  driver = accept
  domains = exim.example
  local_parts = full
  transport = mailbox
elsewhere:
  driver = dnslookup
  domains = ! exim.example
  transport = remote
  no_more
begin transports
remote:
  driver = smtp
  allow_localhost
mailbox:
  driver = appendfile
  file = /var/mail/full
  user = nobody
  group = nogroup
  quota = 1K
begin retry
* quota
* * F,1s,1s
begin rewrite
`
  return startMailSystem({
    listen,
    nameServer,
    unpackedFrom: 'exim4-daemon-light',
    users: ['Debian-exim'],
    files: { '/etc/exim4/exim4.conf': configuration },
    prepare: `
      mkdir -p /var/spool/exim4 /var/log/exim4 /var/mail
      chown Debian-exim:Debian-exim /var/spool/exim4 /var/log/exim4
      head -c 2000 /dev/zero >/var/mail/full
      chown -R nobody:nogroup /var/mail`,
    command: ['/usr/sbin/exim4', '-bdf', '-q1s'],
    logFile: '/var/log/exim4/main',
  })
}
