import { postfixServices } from '../../bench/postfix-instance.ts'
import { startMailSystem, type MailSurroundings, type MailSystem } from './mail-system.ts'

/** Bytes of a mailbox that is full; Postfix wants it no smaller than a message may be. */
const mailboxLimit = 50_000

/**
 * Postfix that takes all mail for `postfix.example`, of which it knows no mailbox but `full`, and forwards `forwarded`. It
 * also takes mail for domains that it hands on, and returns what cannot be delivered at the first attempt.
 */
export function startBouncingPostfix({ listen, nameServer, routes, onward, forwardTo }: MailSurroundings): Promise<MailSystem> {
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
    relay_domains: onward.join(' '),
    transport_maps: 'texthash:/etc/postfix/transport',
    smtp_tls_security_level: 'may',
    virtual_alias_maps: `inline:{forwarded@postfix.example=${forwardTo}}`,
    virtual_mailbox_domains: 'postfix.example',
    virtual_mailbox_base: '/var/mail',
    virtual_mailbox_maps: 'inline:{full@postfix.example=full}',
    virtual_uid_maps: 'static:65534',
    virtual_gid_maps: 'static:65534',
    virtual_mailbox_limit: String(mailboxLimit),
    message_size_limit: String(mailboxLimit),
    maximal_queue_lifetime: '0',
    bounce_queue_lifetime: '0',
  }
  return startMailSystem({
    listen,
    nameServer,
    files: {
      '/etc/postfix/main.cf': Object.entries(settings)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
      '/etc/postfix/master.cf': postfixServices(listen),
      '/etc/postfix/transport': Object.entries(routes)
        .map(([domain, { host, port }]) => `${domain} smtp:[${host}]:${port}\n`)
        .join(''),
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
