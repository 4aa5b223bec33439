import { startMailSystem } from './mail-system.ts'
import type { MailSurroundings, MailSystem } from './mail-system.ts'

/** OpenSMTPD that takes all mail for `opensmtpd.example`, and forwards it as it is told. */
export function startBouncingOpensmtpd({ listen, nameServer, routes }: MailSurroundings, forwards: Record<string, string>): Promise<MailSystem> {
  const onward = Object.entries(routes)
  const configuration = `
queue ttl 3s
smtp max-message-size 50M
table forwards file:/etc/mail/forwards
listen on ${listen.host} port ${listen.port} hostname mx.opensmtpd.example
action "forward" mbox virtual <forwards>
action "elsewhere" relay
${onward.map(([, { host, port }], place) => `action "onward${place}" relay host smtp+notls://${host}:${port}`).join('\n')}
match from any for domain "opensmtpd.example" action "forward"
${onward.map(([domain], place) => `match from any for domain "${domain}" action "onward${place}"`).join('\n')}
match from any for any action "elsewhere"
`
  return startMailSystem({
    listen,
    nameServer,
    unpackedFrom: 'opensmtpd',
    users: ['opensmtpd', 'opensmtpq'],
    files: {
      '/etc/smtpd.conf': configuration,
      '/etc/mailname': 'mx.opensmtpd.example\n',
      '/etc/mail/forwards': Object.entries(forwards).map(([localPart, address]) => `${localPart}@opensmtpd.example ${address}\n`).join(''),
    },
    prepare: `
      ln -s /run /var/run
      mkdir -p /var/spool/smtpd /var/lib/opensmtpd/empty /var/mail
      chmod 711 /var/spool/smtpd`,
    command: ['/usr/sbin/smtpd', '-d'],
  })
}
