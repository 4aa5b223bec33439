import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasPostfix, postfixDirectory, startPostfixInstance } from './postfix-instance.ts'
import { endWithProcess } from '../test/support/end-with-process.ts'
import { testCertificate } from '../test/support/test-certificates.ts'
import type { Sink } from './sink.ts'
import { waitForListener } from './wait-for-port.ts'

/** A mail server under test. */
export interface Peer {
  name: string
  host: string
  /** Of the nodes of one server; connections are divided among them. */
  ports: number[]
  /** Processes whose CPU and memory count. */
  pids: number[]
  user?: string
  password?: string
  stop(): Promise<void>
}

const listen = { host: '127.0.0.1', port: 2601 }

/** True where Debian's Postfix and OpenDKIM are installed and may be started. */
export const hasPostfixAndOpenDkim = (): boolean =>
  hasPostfix() && ['/usr/sbin/opendkim', '/usr/bin/openssl'].every((file) => existsSync(file))

/**
 * Postfix with OpenDKIM over a UNIX socket (RSA-2048, relaxed/relaxed), everything relayed to the sink. It is as durable
 * as Postfix always is: a message is flushed before it is accepted.
 */
export async function startPostfixPeer(sink: Sink, starttls = false): Promise<Peer> {
  const directory = postfixDirectory()
  mkdirSync(join(directory, 'dkim'))
  const signer = startOpenDkim(directory)
  endWithProcess(() => signer.kill())
  const socket = join(directory, 'dkim/opendkim.sock')
  await waitForListener({ path: socket })
  const postfix = await startPostfixInstance(directory, listen, {
    myhostname: 'relay.bench.example',
    relayhost: `[${sink.host}]:${sink.port}`,
    ...(starttls ? await tlsSettings(directory) : { smtp_tls_security_level: 'none', smtpd_tls_security_level: 'none' }),
    smtpd_milters: `unix:${socket}`,
    milter_default_action: 'tempfail',
  })
  return {
    name: 'Postfix + OpenDKIM',
    host: listen.host,
    ports: [listen.port],
    pids: [postfix.masterPid, signer.pid ?? 0],
    async stop() {
      postfix.stop()
      signer.kill()
      await once(signer, 'exit')
    },
  }
}

/** Opportunistic both ways, and sessions are resumed both ways. */
async function tlsSettings(directory: string): Promise<Record<string, string>> {
  const { key, cert } = await testCertificate(['relay.bench.example'])
  const file = join(directory, 'tls.pem')
  writeFileSync(file, key + cert, { mode: 0o600 })
  return {
    smtpd_tls_security_level: 'may',
    smtpd_tls_cert_file: file,
    smtpd_tls_key_file: file,
    smtp_tls_security_level: 'may',
    smtp_tls_session_cache_database: 'btree:${data_directory}/smtp_scache',
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
