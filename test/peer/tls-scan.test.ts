import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { processDirectory } from '../support/temporary-directory.ts'

const execute = promisify(execFile)
const [cert, key] = ['cert.pem', 'key.pem'].map((file) => join(processDirectory(), file)) as [string, string]
let relay: TestRelay

/** With a key of RSA, OpenSSL would offer more than with one of an elliptic curve. */
function makeCertificate(): void {
  const names = ['-subj', '/CN=relay.example', '-addext', 'subjectAltName=DNS:relay.example']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '30', ...names], {
    stdio: 'ignore',
  })
}

beforeAll(async () => {
  makeCertificate()
  relay = await startTestRelay({ http_tls_listen: '127.0.0.1:0', tls_cert: cert, tls_key: key })
})
afterAll(() => relay.stop())

interface Scan {
  /** Those that it speaks. */
  protocols: string[]
  ciphers: string[]
  /** What sslscan shows in yellow or red. */
  faults: string[]
}

async function scan(port: number | undefined, options: readonly string[]): Promise<Scan> {
  const { stdout } = await execute('sslscan', ['--xml=-', '--sni-name=relay.example', ...options, `127.0.0.1:${port}`])
  const all = (form: RegExp): string[] => Array.from(stdout.matchAll(form), ([, first = '', second = '']) => first + second)
  return {
    protocols: all(/<protocol type="(\w+)" version="([\d.]+)" enabled="1"/g),
    ciphers: all(/<cipher [^>]*cipher="([^"]+)"/g),
    faults: [
      ...all(/<cipher [^>]*cipher="([^"]+)"[^>]*strength="(?!strong|acceptable)\w+"/g),
      ...all(/(<heartbleed [^>]*vulnerable="1")/g),
      ...all(/(<compression supported="1")/g),
      ...all(/(<renegotiation supported="1")/g),
      ...all(/(<signature-algorithm>(?:md5|sha1)\w*)/gi),
    ],
  }
}

type Port = readonly [what: string, options: readonly string[], listener: 'submission' | 'returnPath' | 'http', place: number]
const ports: readonly Port[] = [
  ['submission', ['--starttls-smtp'], 'submission', 0],
  ['submission over TLS', [], 'submission', 1],
  ['the return path', ['--starttls-smtp'], 'returnPath', 0],
  ['HTTP', [], 'http', 1],
]

async function expectNothingWeak([what, options, listener, place]: Port): Promise<void> {
  const { protocols, ciphers, faults } = await scan(relay.relay.addresses[listener][place]?.port, options)
  expect({ what, protocols, faults }).toEqual({ what, protocols: ['tls1.2', 'tls1.3'], faults: [] })
  // In TLS 1.3 the key exchange is always ephemeral.
  expect(ciphers.filter((cipher) => !/^(?:TLS_|ECDHE-)/.test(cipher))).toEqual([])
  expect(ciphers).toEqual(expect.arrayContaining(['TLS_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305']))
  const cbc = ciphers.filter((cipher) => /^ECDHE-RSA-AES\d+-SHA/.test(cipher))
  expect(cbc.length).toBe(what === 'HTTP' ? 0 : 4)
}

test.each(ports)('sslscan finds nothing old or weak at the port for %s', (...port) => expectNothingWeak(port))

test('nor once there is another certificate', async () => {
  const before = await servedCertificate()
  makeCertificate()
  await relay.relay.reload(relay.relay.services.config)
  expect(await servedCertificate()).not.toBe(before)
  for (const port of ports) await expectNothingWeak(port)
})

/** The fingerprint of that of HTTP. */
async function servedCertificate(): Promise<string> {
  const socket = connect({ port: relay.relay.addresses.http[1]?.port ?? 0, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint
}
