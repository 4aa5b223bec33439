import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from '../../bench/free-port.ts'
import { postfixDirectory } from '../../bench/postfix-instance.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { startExim } from './exim-system.ts'
import { startOpensmtpd } from './opensmtpd-system.ts'
import { startPostfixMailbox } from './postfix-mailbox.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import type { TestCertificate } from './test-certificates.ts'

/** A mail system that keeps all mail for `example.com`. */
export interface ReceivingSystem {
  ports: {
    /** STARTTLS is offered here. */
    starttls: number
    plain: number
  }
  /** All that it has kept, each message with the trace fields that it has added at its top. */
  messages(): string[]
  stop(): Promise<void> | void
}

interface Place {
  host: string
  /** By the name that a client asks for (SNI); `default` is for all others. */
  certificates: Record<string, TestCertificate> & { default: TestCertificate }
}

export type StartReceiving = (place: Place) => Promise<ReceivingSystem>

const freePorts = async () => ({ starttls: await freePort(), plain: await freePort() })

/** Files with a key and its certificates, by path. */
const pemFiles = (certificates: Place['certificates'], pathOf: (name: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(certificates).map(([name, { key, cert }]) => [pathOf(name), `${key}\n${cert}\n`]))

const namesOf = (certificates: Place['certificates']): string[] => Object.keys(certificates).filter((name) => name !== 'default')

function writeFiles(files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content, { mode: 0o600 })
  }
}

/** A directory for mail, which users of mail systems may write to. */
function mailDirectory(): { path: string; messages: () => string[]; remove: () => void } {
  const directory = temporaryDirectory()
  chmodSync(directory.path, 0o777)
  return { ...directory, messages: () => readAll(directory.path) }
}

/** All messages below a directory: Maildirs have them in `new`. */
const readAll = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/tmp'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))

export async function startReceivingPostfix({ host, certificates }: Place): Promise<ReceivingSystem> {
  const ports = await freePorts()
  const at = postfixDirectory()
  const fileOf = (name: string): string => join(at, `${name}.pem`)
  const names = namesOf(certificates).map((name) => `${name} ${fileOf(name)}\n`)
  writeFiles({ ...pemFiles(certificates, fileOf), [join(at, 'names')]: names.join('') })
  const settings = {
    virtual_mailbox_domains: 'example.com',
    smtpd_tls_cert_file: fileOf('default'),
    smtpd_tls_key_file: fileOf('default'),
    smtpd_tls_received_header: 'yes',
    tls_server_sni_maps: `texthash:${join(at, 'names')}`,
  }
  const plain = `${host}:${ports.plain} inet n - n - - smtpd -o smtpd_tls_security_level=none\n`
  const { directory, stop } = await startPostfixMailbox({ host, port: ports.starttls }, settings, plain)
  return { ports, messages: () => readAll(join(directory, 'mail')), stop }
}

export async function startReceivingExim({ host, certificates }: Place): Promise<ReceivingSystem> {
  const ports = await freePorts()
  const mail = mailDirectory()
  const fileOf = (name: string): string => `/etc/exim4/${name}.pem`
  const file = namesOf(certificates).reduce(
    (otherwise, name) => `\${if eq{$tls_in_sni}{${name}}{${fileOf(name)}}{${otherwise}}}`,
    fileOf('default'),
  )
  const system = await startExim({
    listen: { host, port: ports.starttls },
    otherPort: ports.plain,
    nameServer: '127.0.0.1',
    hostName: 'mx.exim.example',
    main: `
tls_advertise_hosts = \${if eq{$received_port}{${ports.starttls}}{*}}
tls_certificate = ${file}
tls_privatekey = ${file}`,
    sections: `begin routers
all:
  driver = accept
  transport = keep
begin transports
keep:
  driver = appendfile
  directory = ${mail.path}
  maildir_format
  user = nobody
  group = nogroup
begin rewrite`,
    files: pemFiles(certificates, fileOf),
  })
  return { ports, messages: mail.messages, stop: () => system.stop().then(mail.remove) }
}

/**
 * With Debian's OpenSMTPD 6.8 every handshake fails, whatever the certificate: it was made for OpenSSL before 3
 * (https://github.com/OpenSMTPD/OpenSMTPD/issues/1171).
 */
export async function startReceivingOpensmtpd({ host, certificates }: Place): Promise<ReceivingSystem> {
  const ports = await freePorts()
  const mail = mailDirectory()
  const { key, cert } = certificates.default
  const system = await startOpensmtpd({
    listen: { host, port: ports.starttls },
    nameServer: '127.0.0.1',
    hostName: 'mx.opensmtpd.example',
    pem: `${key}\n${cert}`,
    listener: 'tls pki mx.opensmtpd.example',
    configuration: `
pki mx.opensmtpd.example cert "/var/tls.pem"
pki mx.opensmtpd.example key "/var/tls.pem"
table all { "@" = nobody }
listen on ${host} port ${ports.plain} hostname mx.opensmtpd.example
action "keep" maildir "${mail.path}" virtual <all>
match from any for any action "keep"`,
  })
  return { ports, messages: mail.messages, stop: () => system.stop().then(mail.remove) }
}

const haraka = join(import.meta.dirname, '../peer/haraka/node_modules/Haraka')

/** Haraka, which also offers REQUIRETLS inside TLS, by a plugin. */
export async function startReceivingHaraka({ host, certificates }: Place): Promise<ReceivingSystem> {
  if (!existsSync(haraka)) throw new Error('Install Haraka first: npm ci --prefix test/peer/haraka --omit=optional')
  const ports = await freePorts()
  const mail = mailDirectory()
  const { path, remove } = temporaryDirectory()
  const at = (file: string): string => join(path, file)
  writeFiles({
    ...pemFiles(certificates, (name) => at(name === 'default' ? 'config/default.pem' : `config/tls/${name}.pem`)),
    [at('config/me')]: 'mx.haraka.example',
    [at('config/host_list')]: 'example.com',
    [at('config/plugins')]: 'tls\nrequire_tls\nrcpt_to.in_host_list\nqueue/test\n',
    [at('config/connection.ini')]: readFileSync(join(haraka, 'config/connection.ini'), 'utf8'),
    [at('config/smtp.ini')]: `listen=${host}:${ports.starttls},${host}:${ports.plain}\nnodes=0\n`,
    [at('config/tls.ini')]: `key=default.pem\ncert=default.pem\nno_starttls_ports[]=${ports.plain}\n`,
    [at('plugins/require_tls.js')]: requireTls,
  })
  const child = spawn(process.execPath, [join(haraka, 'bin/haraka'), '-c', path], { env: { ...process.env, TMPDIR: mail.path } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  for (const port of Object.values(ports))
    await Promise.race([waitForPort(host, port), ended.then(() => Promise.reject(new Error(`Haraka ended: ${output}`)))])
  return {
    ports,
    messages: mail.messages,
    async stop() {
      child.kill('SIGKILL')
      await ended
      mail.remove()
      remove()
    },
  }
}

const requireTls = `
exports.hook_capabilities = (next, connection) => {
  if (connection.tls.enabled) connection.capabilities.push('REQUIRETLS')
  next()
}
exports.hook_mail = (next, connection, [, parameters]) => {
  connection.transaction.notes.requireTls = 'REQUIRETLS' in parameters
  next()
}
exports.hook_data_post = (next, connection) => {
  const { transaction } = connection
  if (transaction.notes.requireTls) transaction.add_leading_header('X-Mail-Parameter', 'REQUIRETLS')
  next()
}
`
