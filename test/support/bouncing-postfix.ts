import { postfixServices } from '../../bench/postfix-instance.ts'
import { startMailSystem } from './mail-system.ts'
import type { MailSurroundings, MailSystem } from './mail-system.ts'

/** Bytes of a mailbox that is full; Postfix wants it no smaller than a message may be. */
const mailboxLimit = 50_000

/** Postfix that takes all mail for `postfix.example`, knows no mailbox but a full one, and forwards to `<local part>.onward.example`. */
export function startBouncingPostfix({ listen, nameServer, routes }: MailSurroundings, forwards: Record<string, string>): Promise<MailSystem> {
  const settings = {
    compatibility_level: '3.6',
    myhostname: 'mx.postfix.example',
    mydestination: '',
    inet_interfaces: 'loopback-only',
    inet_protocols: 'ipv4',
    maillog_file: '/var/log/mail.log',
    alias_maps: '',
    smtpd_relay_restrictions: 'permit_auth_destination reject',
    // Otherwise unknown users are refused at RCPT, as they should be.
    smtpd_reject_unlisted_recipient: 'no',
    relay_domains: Object.keys(routes).join(' '),
    transport_maps: 'texthash:/etc/postfix/transport',
    virtual_alias_maps: 'texthash:/etc/postfix/forwards',
    virtual_mailbox_domains: 'postfix.example',
    virtual_mailbox_base: '/var/mail',
    virtual_mailbox_maps: 'inline:{full@postfix.example=full}',
    virtual_uid_maps: 'static:65534',
    virtual_gid_maps: 'static:65534',
    virtual_mailbox_limit: String(mailboxLimit),
    message_size_limit: String(mailboxLimit),
    // One attempt.
    maximal_queue_lifetime: '0',
    bounce_queue_lifetime: '0',
  }
  return startMailSystem({
    listen,
    nameServer,
    files: {
      '/etc/postfix/main.cf': lines(settings, ' = '),
      '/etc/postfix/master.cf': postfixServices(listen),
      '/etc/postfix/forwards': lines(prefixed(forwards, '@postfix.example'), ' '),
      '/etc/postfix/transport': lines(
        Object.fromEntries(Object.entries(routes).map(([domain, { host, port }]) => [domain, `smtp:[${host}]:${port}`])),
        ' ',
      ),
    },
    prepare: `
      mkdir -p /var/spool/postfix /var/lib/postfix /var/log /var/mail
      chown postfix /var/lib/postfix
      head -c ${mailboxLimit} /dev/zero >/var/mail/full
      chown 65534:65534 /var/mail /var/mail/full`,
    command: ['/usr/sbin/postfix', 'start-fg'],
    logFile: '/var/log/mail.log',
  })
}

const prefixed = (forwards: Record<string, string>, domain: string): Record<string, string> =>
  Object.fromEntries(Object.entries(forwards).map(([localPart, address]) => [localPart + domain, address]))

const lines = (values: Record<string, string>, between: string): string =>
  Object.entries(values).map(([name, value]) => `${name}${between}${value}\n`).join('')
