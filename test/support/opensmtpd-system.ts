import { startMailSystem, type MailSystem } from './mail-system.ts'

interface OpensmtpdOptions {
  listen: { host: string; port: number }
  nameServer: string
  hostName: string
  /** What its file says besides where it listens. */
  configuration: string
  /** Options of its listener. */
  listener?: string
  /** A key and its certificates in PEM, which it finds as `/var/tls.pem`. */
  pem?: string
}

/** OpenSMTPD as Debian has it, with a configuration of its own. */
export function startOpensmtpd({ listen, nameServer, hostName, configuration, listener = '', pem }: OpensmtpdOptions): Promise<MailSystem> {
  return startMailSystem({
    listen,
    nameServer,
    unpackedFrom: 'opensmtpd',
    users: ['opensmtpd', 'opensmtpq'],
    files: {
      '/etc/smtpd.conf': `${configuration}\nlisten on ${listen.host} port ${listen.port} hostname ${hostName} ${listener}\n`,
      '/etc/mailname': `${hostName}\n`,
      ...(pem && { '/etc/tls.pem': pem }),
    },
    // It reads no keys that others can read.
    prepare: `
      ln -s /run /var/run
      mkdir -p /var/spool/smtpd /var/lib/opensmtpd/empty /var/mail
      chmod 711 /var/spool/smtpd
      ${pem ? 'install -m 600 /etc/tls.pem /var/tls.pem' : ''}`,
    command: ['/usr/sbin/smtpd', '-d'],
  })
}
