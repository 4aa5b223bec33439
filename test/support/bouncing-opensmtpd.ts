import type { MailSurroundings, MailSystem } from './mail-system.ts'
import { startOpensmtpd } from './opensmtpd-system.ts'

/**
 * OpenSMTPD that takes `forwarded@opensmtpd.example` and mail for all other domains, hands it on, and returns what cannot be
 * delivered within three seconds. It refuses unknown users of its own at RCPT, whatever its configuration.
 */
export function startBouncingOpensmtpd({ listen, nameServer, routes, forwardTo }: MailSurroundings): Promise<MailSystem> {
  const hosts = Object.entries(routes)
  const configuration = `
queue ttl 3s
table forwards { "forwarded@opensmtpd.example" = "${forwardTo}" }
action "forward" mbox virtual <forwards>
action "elsewhere" relay
${hosts.map(([, { host, port }], place) => `action "host${place}" relay host smtp://${host}:${port}`).join('\n')}
match from any for domain "opensmtpd.example" action "forward"
${hosts.map(([domain], place) => `match from any for domain "${domain}" action "host${place}"`).join('\n')}
match from any for any action "elsewhere"
`
  return startOpensmtpd({ listen, nameServer, hostName: 'mx.opensmtpd.example', configuration })
}
