import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitForListener, waitForPort } from './wait-for-port.ts'

/** A mail server under test. */
export interface Peer {
  name: string
  host: string
  port: number
  /** Processes whose CPU and memory count. */
  pids: number[]
  user?: string
  password?: string
  stop(): void
}

const port = 2601

/** True where Debian's Postfix and OpenDKIM are installed and may be started (Postfix wants to be root). */
export const hasPostfix = (): boolean =>
  process.getuid?.() === 0 && ['/usr/sbin/postfix', '/usr/sbin/opendkim', '/usr/bin/openssl'].every((file) => existsSync(file))

/**
 * Debian's Postfix with OpenDKIM over a UNIX socket (RSA-2048, relaxed/relaxed), in a directory of its own, on loopback,
 * everything relayed to the sink. It is as durable as Postfix always is: a message is flushed before it is accepted.
 */
export async function startPostfix(sink: { host: string; port: number }): Promise<Peer> {
  const directory = mkdtempSync(join(tmpdir(), 'sterna-bench-postfix-'))
  chmodSync(directory, 0o755)
  const at = (name: string): string => join(directory, name)
  for (const name of ['etc', 'queue', 'data', 'dkim']) mkdirSync(at(name))
  const signer = startOpenDkim(directory)
  await waitForListener({ path: at('dkim/opendkim.sock') })
  copyFileSync('/usr/share/postfix/master.cf.dist', at('etc/master.cf'))
  const services = readFileSync(at('etc/master.cf'), 'utf8')
    .replace(/^smtp +inet.*$/m, `127.0.0.1:${port} inet n - n - - smtpd`)
    // Without chroot jails, which would need files copied into the queue directory.
    .replace(/^(\w\S*\s+(?:unix|fifo|pass)\s+\S+\s+\S+\s+)\S+/gm, '$1n')
  writeFileSync(at('etc/master.cf'), services)
  writeFileSync(at('etc/main.cf'), mainCf(directory, sink))
  execFileSync('chown', ['postfix', at('data')])
  const postfix = (command: string) => execFileSync('/usr/sbin/postfix', ['-c', at('etc'), command], { stdio: 'ignore' })
  postfix('start')
  await waitForPort('127.0.0.1', port)
  const master = Number(readFileSync(at('queue/pid/master.pid'), 'utf8'))
  return {
    name: 'Postfix + OpenDKIM',
    host: '127.0.0.1',
    port,
    pids: [master, signer.pid ?? 0],
    stop() {
      postfix('stop')
      signer.kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function startOpenDkim(directory: string): ChildProcess {
  const key = join(directory, 'dkim/sel.pem')
  execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'ignore' })
  const configuration = join(directory, 'opendkim.conf')
  writeFileSync(
    configuration,
    [
      `Socket local:${join(directory, 'dkim/opendkim.sock')}`,
      'Mode s',
      'Domain sender.example',
      'Selector sel',
      `KeyFile ${key}`,
      'Canonicalization relaxed/relaxed',
      'SignatureAlgorithm rsa-sha256',
      'OversignHeaders From',
      'InternalHosts 127.0.0.1',
      'UMask 000',
      'RequireSafeKeys no',
      '',
    ].join('\n'),
  )
  execFileSync('chown', ['-R', 'opendkim', join(directory, 'dkim')])
  chmodSync(key, 0o600)
  return spawn('/usr/sbin/opendkim', ['-f', '-u', 'opendkim', '-x', configuration], { stdio: 'ignore' })
}

const mainCf = (directory: string, sink: { host: string; port: number }): string => `
compatibility_level = 3.6
myhostname = relay.bench.example
queue_directory = ${directory}/queue
data_directory = ${directory}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = /var/log/sterna-bench-postfix.log
inet_interfaces = loopback-only
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
mydestination =
alias_maps =
relayhost = [${sink.host}]:${sink.port}
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_client_restrictions =
smtp_tls_security_level = none
smtpd_tls_security_level = none
smtpd_milters = unix:${directory}/dkim/opendkim.sock
milter_default_action = tempfail
default_process_limit = 100
smtp_connection_cache_on_demand = yes
`
