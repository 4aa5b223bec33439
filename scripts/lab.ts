/**
 * A little internet on this machine: a name server that knows every domain, a mailbox that takes mail for all of them,
 * and Sterna in between with a verified domain `shop.example`. Mail is really looked up, signed, delivered and checked;
 * nothing leaves the machine. The mailbox refuses `unknown@` at any domain. Everything is kept below data/lab; start it
 * anew with an empty one at any time.
 *
 * npm run lab
 */
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { freePort } from '../bench/free-port.ts'
import { waitForPort } from '../bench/wait-for-port.ts'
import { startFakeDns, type FakeRecords } from '../test/support/fake-dns.ts'
import { firstAccount } from '../test/support/first-account.ts'
import { startFakeMx, type MxMessage } from '../test/support/fake-mx.ts'
import { composeDsn } from '../test/support/returned-mail.ts'

const command = new URL('../bin/sterna.js', import.meta.url).pathname
const directory = resolve(import.meta.dirname, '../data/lab')
const mailbox = join(directory, 'mailbox')
rmSync(directory, { recursive: true, force: true })
mkdirSync(mailbox, { recursive: true })
writeFileSync(join(directory, 'bounce.eml'), composeDsn({ recipient: 'you@anywhere.example' }))

const hostname = 'relay.lab.example'
const refused = (address: string) => (address.startsWith('unknown@') ? '550 5.1.1 There is no such user here' : undefined)

const mx = await startFakeMx({ host: '127.0.0.1', on: { rcpt: refused } })
const everyDomain: FakeRecords = { mx: [[10, 'mailbox.lab.example']] }
const itself: FakeRecords = { a: ['127.0.0.1'], mx: [[10, hostname]] }
const hosts = { 'mailbox.lab.example': { a: ['127.0.0.1'] }, [hostname]: itself }
const dns = await startFakeDns(hosts, (name) => (name.startsWith('_') ? undefined : everyDomain))
const [httpPort, submissionPort, tlsPort, returnPathPort] = [await freePort(), await freePort(), await freePort(), await freePort()]
const environment = {
  ...process.env,
  STERNA_DATA_DIR: join(directory, 'data'),
  STERNA_HOSTNAME: hostname,
  STERNA_HTTP_LISTEN: `127.0.0.1:${httpPort}`,
  STERNA_BASE_URL: `http://127.0.0.1:${httpPort}`,
  STERNA_SUBMISSION_LISTEN: `127.0.0.1:${submissionPort}`,
  STERNA_SUBMISSION_TLS_LISTEN: `127.0.0.1:${tlsPort}`,
  STERNA_RETURN_PATH_LISTEN: `127.0.0.1:${returnPathPort}`,
  STERNA_DNS_SERVERS: dns.server,
  STERNA_DELIVERY_PORT: String(mx.port),
  STERNA_DELIVERY_ALLOW_PRIVATE_ADDRESSES: 'true',
  STERNA_LOG_LEVEL: 'warn',
}
/** Not the synchronous kind: this process answers the name look-ups. */
const execute = promisify(execFile)
const sterna = async (...words: string[]): Promise<string> =>
  (await execute(process.execPath, [command, ...words], { env: environment })).stdout.trim()

await sterna(...firstAccount(directory, 'lab', 'enterprise'))
publish(await sterna('domain', 'add', 'shop.example', '--account', 'lab', '--json'))
await sterna('domain', 'verify', 'shop.example')
const token = await sterna('key', 'create', '--account', 'lab')
// In a process group of its own, so that Ctrl-C reaches it only through this process, and once.
const server = spawn(process.execPath, [command, 'serve'], {
  env: environment,
  stdio: ['ignore', 'ignore', 'inherit'],
  detached: true,
})
process.once('exit', () => server.kill())
await Promise.all([waitForPort('127.0.0.1', httpPort), waitForPort('127.0.0.1', submissionPort)])
// The server's own domain is made at its start; it signs notices and what is forwarded.
publish(await sterna('domain', 'show', hostname, '--json'))
await sterna('domain', 'verify', hostname)

console.log(`
A lab is running, with the verified domain shop.example. In another terminal, in this directory:

  curl -s http://127.0.0.1:${httpPort}/api/send -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
    -d '{"from":"Shop <orders@shop.example>","to":"you@anywhere.example","subject":"Your order","html":"<p>Thank you.</p>"}'

Or point an app at smtp://127.0.0.1:${submissionPort} (STARTTLS, any user, password ${token}).
What arrives is shown here and kept in data/lab/mailbox; unknown@anywhere.example is refused. To have an email to
you@anywhere.example bounce after it was delivered, bring the report of that to the reverse-path that is shown with it:

  curl smtp://127.0.0.1:${returnPathPort} --mail-from '' --mail-rcpt REVERSE-PATH -T data/lab/bounce.eml
  STERNA_DATA_DIR=data/lab/data npx sterna feedback list

End with Ctrl-C.
`)

server.once('exit', (code) => process.exit(code ?? 1))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.kill())

for (let seen = 0; ; seen++) await show((await mx.waitForMessages(seen + 1))[seen] as MxMessage, seen + 1)

/** Puts the records of a domain, as a command printed them, into the DNS. */
function publish(domain: string): void {
  const { records } = JSON.parse(domain) as { records: { name: string; type: string; value: string; priority?: number }[] }
  for (const { name, type, value, priority } of records) {
    const entry = (dns.zone[name] ??= {}) as FakeRecords
    if (type === 'TXT') entry.txt = [...(entry.txt ?? []), value]
    if (type === 'MX') entry.mx = [[priority ?? 10, value]]
  }
}

async function show(message: MxMessage, number: number): Promise<void> {
  const file = join(mailbox, `${number}.eml`)
  writeFileSync(file, message.data)
  const { results } = await dkimVerify(message.data, {
    resolver: async (name: string) => ((dns.zone[name] as FakeRecords | undefined)?.txt ?? []).map((text) => [text]),
  })
  const signed = results.filter(({ status }) => status.result !== 'none')
  const signatures = signed.map(({ algo, signingDomain, status }) => `${algo} of ${signingDomain}: ${status.result}`)
  const subject = /^Subject: (.*)$/im.exec(message.data.toString())?.[1] ?? '(none)'
  console.log(`Mail for ${message.rcptTo.join(', ')}, subject ${JSON.stringify(subject)}`)
  const signature = signatures.length === 0 ? 'No DKIM signature' : `DKIM ${signatures.join(', ')}`
  console.log(`  ${signature}; reverse-path ${message.mailFrom || '<>'}; kept as ${file}`)
}
