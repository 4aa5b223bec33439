import { postfixDirectory, startPostfixInstance } from '../../bench/postfix-instance.ts'
import { startExim } from './exim-system.ts'
import { startMailSystem } from './mail-system.ts'
import { startOpensmtpd } from './opensmtpd-system.ts'

/** Where mail systems hand on all that they get, with STARTTLS and this API key. */
export interface Smarthost {
  host: string
  port: number
  key: string
}

interface RelayingSystem {
  stop(): Promise<void> | void
}

interface Place {
  host: string
  port: number
}

export async function startRelayingPostfix(listen: Place, { host, port, key }: Smarthost): Promise<RelayingSystem> {
  return startPostfixInstance(postfixDirectory(), listen, {
    myhostname: 'app.sender.example',
    relayhost: `[${host}]:${port}`,
    smtp_tls_security_level: 'encrypt',
    smtp_sasl_auth_enable: 'yes',
    smtp_sasl_password_maps: `static:any:${key}`,
    smtp_sasl_security_options: 'noanonymous',
  })
}

export const startRelayingExim = (listen: Place, { host, port, key }: Smarthost): Promise<RelayingSystem> =>
  startExim({
    listen,
    nameServer: '127.0.0.1',
    hostName: 'app.sender.example',
    sections: `begin routers
smarthost:
  driver = manualroute
  route_list = * ${host}::${port}
  self = send
  transport = smarthost
begin transports
smarthost:
  driver = smtp
  hosts_require_auth = *
  hosts_require_tls = *
  allow_localhost
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  client_send = ^any^${key}`,
  })

export const startRelayingOpensmtpd = (listen: Place, { host, port, key }: Smarthost): Promise<RelayingSystem> =>
  startOpensmtpd({
    listen,
    nameServer: '127.0.0.1',
    hostName: 'app.sender.example',
    configuration: `
table keys { "relay" = "any:${key}" }
action "onward" relay host smtp+tls://relay@${host}:${port} tls no-verify auth <keys>
match from any for any action "onward"`,
  })

/** What hands a file to `sendmail`, and has what listens nowhere send it on. */
interface Sent extends Smarthost {
  file: string
  from: string
  to: string
}

export const sendByNullmailer = ({ host, port, key, file, from, to }: Sent): Promise<RelayingSystem> =>
  startMailSystem({
    listen: null,
    nameServer: '127.0.0.1',
    unpackedFrom: 'nullmailer',
    files: {
      '/etc/mailname': 'app.sender.example\n',
      '/etc/nullmailer/remotes': `${host} smtp --port=${port} --auth-login --user=any --pass=${key} --starttls --insecure\n`,
    },
    prepare: `
      mkdir -p /var/spool/nullmailer/queue /var/spool/nullmailer/tmp /var/spool/nullmailer/failed
      mkfifo /var/spool/nullmailer/trigger
      chown -R mail:mail /var/spool/nullmailer
      nullmailer-inject -f ${from} ${to} <${file}`,
    command: ['/usr/sbin/nullmailer-send'],
  })

export const sendByDma = ({ host, port, key, file, from, to }: Sent): Promise<RelayingSystem> =>
  startMailSystem({
    listen: null,
    nameServer: '127.0.0.1',
    unpackedFrom: 'dma',
    files: {
      '/etc/dma/dma.conf': `SMARTHOST ${host}\nPORT ${port}\nAUTHPATH /etc/dma/auth.conf\nSECURETRANSFER\nSTARTTLS\nMAILNAME app.sender.example\n`,
      '/etc/dma/auth.conf': `any|${host}:${key}\n`,
    },
    prepare: 'mkdir -p /var/spool/dma /var/mail; chown root:mail /var/spool/dma; chmod 2775 /var/spool/dma',
    command: ['sh', '-c', `/usr/sbin/dma -D -i -f ${from} ${to} <${file}`],
  })
