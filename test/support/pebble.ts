import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../bench/free-port.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { testCertificate } from './test-certificates.ts'

/** Pebble, the authority that Let's Encrypt tests ACME clients with. */
export interface Pebble {
  /** URL of its directory, for `acme.directory`. */
  directory: string
  /** A file for `acme.ca`. */
  ca: string
  /** PEM; what clients must trust. */
  root: string
  /** The paths that were posted to, oldest first. */
  posted: string[]
  /** How many orders it took, or refused for `limit`. What it refused for its nonce is asked for again. */
  orders(): number
  /** Answers orders as an authority does whose limit is reached, since Pebble has no limits; null: as Pebble. */
  limit: { detail: string; retryAfter: string } | null
  stop(): Promise<void>
}

interface PebbleSettings {
  /** Where it looks up names. */
  nameServer: string
  /** Where it looks for the answers to challenges, at each name's address. */
  httpPort: number
  tlsPort: number
  /** HMAC keys by key id, of which each account must have one; default: none is required. */
  externalAccounts?: Record<string, string>
}

const program = '/usr/bin/pebble'

/** Starts it with a server in front that notes, and can refuse, what is asked. */
export async function startPebble({ nameServer, httpPort, tlsPort, externalAccounts }: PebbleSettings): Promise<Pebble> {
  if (!existsSync(program)) throw new Error(`${program} is missing: .ci/run installs it`)
  const directory = temporaryDirectory()
  const [certificate, ca] = [await testCertificate(['localhost']), join(directory.path, 'ca.pem')]
  const [port, management] = [await freePort(), await freePort()]
  writeFileSync(ca, certificate.cert)
  writeFileSync(join(directory.path, 'key.pem'), certificate.key)
  const settings = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: ca,
    privateKey: join(directory.path, 'key.pem'),
    httpPort,
    tlsPort,
    certificateValidityPeriod: 90 * 86_400,
    externalAccountBindingRequired: externalAccounts !== undefined,
    externalAccountMACKeys: externalAccounts ?? {},
  }
  writeFileSync(join(directory.path, 'pebble.json'), JSON.stringify({ pebble: settings }))
  const child = spawn(program, ['-config', join(directory.path, 'pebble.json'), '-dnsserver', nameServer], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '10', PEBBLE_AUTHZREUSE: '0' },
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await Promise.all([waitForPort('127.0.0.1', port), waitForPort('127.0.0.1', management)])

  let orders = 0
  const front = createServer(certificate, (req, res) => {
    const { method = 'GET', url = '/', headers } = req
    if (method === 'POST') pebble.posted.push(url)
    const isOrder = method === 'POST' && url === orderPath
    if (pebble.limit && isOrder) {
      orders++
      res.writeHead(429, { 'Content-Type': 'application/problem+json', 'Retry-After': pebble.limit.retryAfter })
      return res.end(JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: pebble.limit.detail, status: 429 }))
    }
    const onward = request({ host: 'localhost', port, method, path: url, headers, ca: certificate.cert, agent: false }, (answer) => {
      if (isOrder && answer.statusCode === 201) orders++
      res.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    return req.pipe(onward)
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const pebble: Pebble = {
    directory: `https://localhost:${(front.address() as AddressInfo).port}/dir`,
    ca,
    root: await read(`https://localhost:${management}/roots/0`, certificate.cert),
    posted: [],
    orders: () => orders,
    limit: null,
    async stop() {
      front.close()
      front.closeAllConnections()
      child.kill('SIGKILL')
      await ended
      directory.remove()
    },
  }
  return pebble
}

const orderPath = '/order-plz'

function read(url: string, ca: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const req = request(url, { ca, agent: false }, (res) => {
    let text = ''
    res.setEncoding('utf8').on('data', (part: string) => (text += part))
    res.on('end', () => resolve(text))
  })
  req.on('error', reject).end()
  return promise
}
