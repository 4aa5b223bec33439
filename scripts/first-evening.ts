/**
 * The first evening on a new server, in a network of its own: installs with the lines of docs/install.md, waits for a certificate from
 * Pebble, follows the set-up link, and sends an email by each family of addresses that the network has. Prints what happened as JSON.
 *
 * unshare -rn node scripts/first-evening.ts both|ipv4|ipv6
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request as plainRequest, type IncomingHttpHeaders } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithProcess } from '../test/support/end-with-process.ts'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { startPebble } from '../test/support/pebble.ts'
import { sternaCommand } from '../test/support/sterna-command.ts'
import { temporaryDirectory } from '../test/support/temporary-directory.ts'

const networks = { both: ['192.0.2.10', '2001:db8::10'], ipv4: ['192.0.2.10'], ipv6: ['2001:db8::10'] }
const network = process.argv[2] as keyof typeof networks
const addresses = networks[network]
const hostname = 'mail.example.com'
const maxMs = 120_000

const ip = (...words: string[]): void => void execFileSync('ip', words)
if (network === 'ipv4') writeFileSync('/proc/sys/net/ipv6/conf/all/disable_ipv6', '1')
ip('link', 'set', 'lo', 'up')
// So that Node looks up localhost, where Pebble is; it leads nowhere else.
if (network === 'ipv6') ip('addr', 'add', '10.255.255.1/32', 'dev', 'lo')
for (const address of addresses) {
  if (address.includes(':')) ip('-6', 'addr', 'add', `${address}/128`, 'dev', 'lo', 'nodad')
  else ip('addr', 'add', `${address}/32`, 'dev', 'lo')
}

const [a, aaaa] = [addresses.filter((address) => !address.includes(':')), addresses.filter((address) => address.includes(':'))]
const dns = await startFakeDns({ [hostname]: { ...(a.length > 0 && { a }), ...(aaaa.length > 0 && { aaaa }) } })
const pebble = await startPebble({ nameServer: dns.server, httpPort: 80, tlsPort: 443 })
const directory = temporaryDirectory()
const file = join(directory.path, 'sterna.yml')
const [, lines = ''] = /```yaml\n(data_dir:[^]*?)```/.exec(readFileSync(new URL('../docs/install.md', import.meta.url), 'utf8')) ?? []
const own = { 'acme.directory': pebble.directory, 'acme.ca': pebble.ca, 'dns.servers': `'${dns.server}'` }
const added = Object.entries(own).map(([name, value]) => `${name}: ${value}\n`)
writeFileSync(file, lines.replace('/var/lib/sterna', join(directory.path, 'data')) + added.join(''))

const [program, ...words] = sternaCommand
const env = { PATH: process.env['PATH'], STERNA_CONFIG: file }
const startedAt = performance.now()
const seconds = (): number => Math.round((performance.now() - startedAt) / 100) / 10
const server = spawn(program, [...words, 'serve'], { cwd: directory.path, env })
endWithProcess(() => server.kill())
let [stdout, log] = ['', '']
server.stdout.on('data', (bytes: Buffer) => (stdout += bytes.toString()))
server.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()))

async function until<T>(what: string, found: () => T | Promise<T>): Promise<NonNullable<T>> {
  while (performance.now() - startedAt < maxMs) {
    const value = await found()
    if (value) return value
    if (server.exitCode !== null) break
    await sleep(50)
  }
  throw new Error(`no ${what} in time\n${stdout}\n${log}`)
}

interface Asked {
  method?: string
  headers?: Record<string, string>
  body?: string
  isTls?: boolean
}

/** Asks as a client does that trusts Pebble. */
async function ask(host: string, path: string, { method = 'GET', headers = {}, body = '', isTls = true }: Asked = {}) {
  const options = { host, port: isTls ? 443 : 80, path, method, agent: false, headers: { host: hostname, ...headers } }
  const request = isTls ? tlsRequest({ ...options, servername: hostname, ca: pebble.root }) : plainRequest(options)
  request.end(body)
  const [response] = (await once(request, 'response')) as [AsyncIterable<Buffer> & { statusCode: number; headers: IncomingHttpHeaders }]
  let text = ''
  for await (const part of response) text += part.toString()
  return { status: response.statusCode, headers: response.headers, text }
}

async function greeting(host: string, port: number): Promise<string> {
  const socket = connect({ host, port })
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return bytes.toString().trim()
}

async function send(host: string, key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const email = { from: 'me@example.com', to: 'delivered@simulator.test', subject: 'Hello', text: 'It works.' }
  const { text } = await ask(host, '/api/send', { method: 'POST', headers, body: JSON.stringify(email) })
  const { id } = JSON.parse(text) as { id: string }
  return until('outcome of the email', async () => {
    const { status } = JSON.parse((await ask(host, `/api/emails/${id}`, { headers })).text) as { status: string }
    return status === 'delivered' ? status : null
  })
}

try {
  await until('ready server', () => log.includes('Sterna is ready'))
  const ready = seconds()
  const setup = await until('set-up link', () => /\/setup\/\S+/.exec(stdout)?.[0])
  const key = /sterna_test_\S+/.exec(stdout)?.[0] ?? ''
  await until('certificate', () => log.includes('got a certificate'))
  const certificate = seconds()
  const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  const body = 'email=owner%40example.com&password=correct-horse-battery'
  const [first = ''] = addresses
  const owner = await ask(first, setup, { method: 'POST', headers: { ...form, origin: `https://${hostname}` }, body })
  const cookies = owner.headers['set-cookie'] ?? []
  const byAddress: Record<string, unknown> = {}
  for (const address of addresses) {
    const plain = await ask(address, '/', { isTls: false })
    byAddress[address] = {
      plain: `${plain.status} ${plain.headers.location}`,
      health: (await ask(address, '/healthz', { isTls: false })).status,
      dashboard: (await ask(address, '/', { headers: { accept: 'text/html' } })).headers['strict-transport-security'],
      greetings: [await greeting(address, 25), await greeting(address, 587)],
      sent: await send(address, key),
    }
  }
  const sent = seconds()
  const doctor = spawn(program, [...words, 'doctor', '--json'], { cwd: directory.path, env })
  let findings = ''
  doctor.stdout.on('data', (bytes: Buffer) => (findings += bytes.toString()))
  await once(doctor, 'close')
  const { findings: found = [] } = JSON.parse(findings) as { findings?: { check: string; code: string; status: string }[] }
  const judged = found.filter(({ check }) => ['return_path', 'reachable'].includes(check)).map(({ status, code }) => `${status} ${code}`)
  const setUp = { status: owner.status, secure: cookies.length > 0 && cookies.every((cookie) => cookie.includes('; Secure')) }
  console.log(JSON.stringify({ network, seconds: { ready, certificate, sent }, setUp, byAddress, judged }))
} finally {
  server.kill()
  if (server.exitCode === null) await once(server, 'exit')
  await pebble.stop()
  await dns.close()
  directory.remove()
}
