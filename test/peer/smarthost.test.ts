import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { postfixDirectory, startPostfixInstance } from '../../bench/postfix-instance.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startExim } from '../support/exim-system.ts'
import type { MailSystem } from '../support/mail-system.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { testCertificate, type TestCertificate } from '../support/test-certificates.ts'

/** Postfix with Cyrus SASL, and Exim, as smarthosts that hand on nothing but what comes after a login. */
const host = '127.0.0.31'
const account = { user: 'relay', realm: 'smart.example', password: 's3cret, and = more' }
const login = `${account.user}@${account.realm}`
const files = temporaryDirectory()
const authority = join(files.path, 'ca.pem')
let certificate: TestCertificate
let nextHop: FakeMx

beforeAll(async () => {
  certificate = await testCertificate(['smart.example'])
  writeFileSync(authority, certificate.cert)
  nextHop = await startFakeMx({ host: '127.0.0.32' })
})
afterAll(async () => {
  await nextHop.close()
  files.remove()
})

async function relayBy(port: number, settings: Record<string, string>): Promise<TestRelay> {
  const common = {
    delivery_smarthost: `smart.example:${port}`,
    delivery_smarthost_user: login,
    delivery_smarthost_password: account.password,
  }
  const relay = await startTestRelay({ ...common, delivery_smarthost_ca: authority, ...settings }, { 'smart.example': { a: [host] } })
  onTestFinished(() => relay.stop())
  return relay
}

const statusOf = async (relay: TestRelay, id: string) => Object.values(await relay.recipients(id))[0]

let lastMail = 0

/** Mail gets through, and says in its attempt how the login was. */
async function expectSent(relay: TestRelay, mechanism: string, verified: boolean): Promise<void> {
  const to = `ann${++lastMail}@rcpt.example`
  const id = await relay.send(to)
  await expect.poll(async () => await statusOf(relay, id)).toMatchObject({ status: 'sent' })
  const { body } = await relay.call('GET', `/api/emails/${id}/attempts`)
  expect(body.data[0]).toMatchObject({ tls: { verified } })
  expect(body.data[0].transcript.map(({ line }: { line: string }) => line)).toContain(`AUTH ${mechanism}`)
  await expect.poll(() => nextHop.messages.filter(({ rcptTo }) => rcptTo[0] === to).length).toBe(1)
}

async function expectWaiting(relay: TestRelay, answer: RegExp, faults: string[]): Promise<void> {
  const id = await relay.send('bob@rcpt.example')
  await expect.poll(async () => (await statusOf(relay, id))?.status).toBe('deferred')
  expect((await statusOf(relay, id))?.last_response).toMatch(answer)
  const health = (await (await fetch(`${relay.baseUrl}/healthz`)).json()) as { faults: { name: string }[] }
  expect(health.faults.map(({ name }) => name)).toEqual(faults)
}

const wrong = { delivery_smarthost_password: 'wrong' }
const unverified = { delivery_smarthost_verify: 'false', delivery_smarthost_ca: '' }
const implicit = { delivery_smarthost_tls: 'implicit' }

describe('Postfix', () => {
  /** It offers this mechanism alone. */
  async function startPostfix(mechanism: string, settings: Record<string, string> = {}): Promise<number> {
    const at = postfixDirectory()
    const port = await freePort()
    // Where Debian's Postfix has Cyrus SASL look.
    const sasl = join(at, 'etc/sasl')
    mkdirSync(sasl, { recursive: true })
    writeFileSync(
      join(sasl, 'smtpd.conf'),
      `pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: ${sasl}/db\nmech_list: ${mechanism}\n`,
    )
    const script =
      'use DB_File; tie my %db, "DB_File", shift, O_CREAT|O_RDWR, 0644, $DB_HASH or die $!; my $p = pop; $db{join "\\0", @ARGV, "userPassword"} = $p'
    execFileSync('perl', ['-e', script, join(sasl, 'db'), account.user, account.realm, account.password])
    writeFileSync(join(at, 'tls.pem'), certificate.key + certificate.cert, { mode: 0o600 })
    const postfix = await startPostfixInstance(
      at,
      { host, port },
      {
        myhostname: 'smart.example',
        default_transport: `smtp:[${nextHop.host}]:${nextHop.port}`,
        smtpd_tls_security_level: 'may',
        smtpd_tls_cert_file: join(at, 'tls.pem'),
        smtpd_tls_key_file: join(at, 'tls.pem'),
        smtpd_tls_auth_only: 'yes',
        smtpd_sasl_auth_enable: 'yes',
        smtpd_sasl_local_domain: account.realm,
        smtpd_relay_restrictions: 'permit_sasl_authenticated, reject',
        ...settings,
      },
    )
    onTestFinished(() => postfix.stop())
    return port
  }

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['PLAIN', {}, {}],
    ['LOGIN', implicit, { smtpd_tls_wrappermode: 'yes' }],
    ['SCRAM-SHA-256', unverified, {}],
    ['CRAM-MD5', unverified, {}],
  ])(
    'takes mail after %s, with %j, and with a wrong password it waits',
    async (mechanism, settings, ofPostfix) => {
      const port = await startPostfix(mechanism, ofPostfix)
      await expectSent(await relayBy(port, settings), mechanism, !('delivery_smarthost_verify' in settings))
      await expectWaiting(await relayBy(port, { ...settings, ...wrong }), /535 5\.7\.8 Error: authentication failed/, ['smarthost_login'])
    },
    60_000,
  )
})

describe('Exim', () => {
  /** It offers PLAIN by STARTTLS, LOGIN with TLS from the first byte, and CRAM-MD5 everywhere; a password `later` it cannot judge now. */
  async function startSmarthost(): Promise<{ ports: { starttls: number; implicit: number }; system: MailSystem }> {
    const ports = { starttls: await freePort(), implicit: await freePort() }
    const { password } = account
    const judged = (user: string, given: string): string =>
      `\${if eq{${given}}{later}{\${readfile{/nonexistent}}}{\${if and{{eq{${user}}{${login}}}{eq{${given}}{${password}}}}}}}`
    const system = await startExim({
      listen: { host, port: ports.starttls },
      nameServer: '127.0.0.54',
      hostName: 'smart.example',
      tlsPort: ports.implicit,
      atRcpt: '  accept authenticated = *\n  deny message = relay not permitted',
      sections: `begin routers
onward:
  driver = manualroute
  route_list = * ${nextHop.host}::${nextHop.port}
  self = send
  transport = remote
begin transports
remote:
  driver = smtp
  allow_localhost
  hosts_try_fastopen =
begin retry
* * F,1h,1s
begin rewrite
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${judged('$auth2', '$auth3')}
  server_advertise_condition = \${if and{{eq{$received_port}{${ports.starttls}}}{def:tls_in_cipher}}}
login:
  driver = plaintext
  public_name = LOGIN
  server_prompts = Username:: : Password::
  server_condition = ${judged('$auth1', '$auth2')}
  server_advertise_condition = \${if eq{$received_port}{${ports.implicit}}}
cram:
  driver = cram_md5
  public_name = CRAM-MD5
  server_secret = \${if eq{$auth1}{${login}}{${password}}fail}`,
      certificate,
    })
    onTestFinished(() => system.stop())
    return { ports, system }
  }

  test('takes mail after PLAIN, LOGIN and CRAM-MD5; with a wrong password, and one that it cannot judge now, it waits', async () => {
    const { ports, system } = await startSmarthost()
    try {
      await expectSent(await relayBy(ports.starttls, {}), 'PLAIN', true)
      await expectSent(await relayBy(ports.implicit, implicit), 'LOGIN', true)
      await expectSent(await relayBy(ports.starttls, unverified), 'CRAM-MD5', false)
      await expectWaiting(await relayBy(ports.starttls, wrong), /535 Incorrect authentication data/, ['smarthost_login'])
      await expectWaiting(
        await relayBy(ports.starttls, { delivery_smarthost_password: 'later' }),
        /435 Unable to authenticate at (this time|present)/,
        [],
      )
    } catch (error) {
      throw new Error(`Exim logged:\n${system.log()}`, { cause: error })
    }
  }, 60_000)
})
