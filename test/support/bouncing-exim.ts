import { startExim } from './exim-system.ts'
import type { MailSurroundings, MailSystem } from './mail-system.ts'

/**
 * Exim that takes all mail for `exim.example`, of which it knows no mailbox but `full`, and forwards `forwarded`. It hands on
 * what is for other domains, and returns what cannot be delivered within a second.
 */
export function startBouncingExim({ listen, nameServer, routes, forwardTo }: MailSurroundings): Promise<MailSystem> {
  const routeList = Object.entries(routes)
    .map(([domain, { host, port }]) => `${domain} ${host}::${port}`)
    .join(' ; ')
  return startExim({
    listen,
    nameServer,
    hostName: 'mx.exim.example',
    main: 'dns_dnssec_ok = 0',
    sections: `begin routers
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
begin rewrite`,
    prepare: 'head -c 2000 /dev/zero >/var/mail/full',
  })
}
