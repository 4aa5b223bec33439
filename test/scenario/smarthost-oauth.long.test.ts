import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
import { startFakeMx, type FakeMx, type FakeMxOptions } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { testCertificate, type TestCertificate } from '../support/test-certificates.ts'
import { refuseWith, startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'
import { passTime, startTwoNodes } from '../support/two-nodes.ts'

const host = '127.0.4.7'
const user = 'relay@smart.example'
const zone = { 'smart.example': { a: [host] }, 'login.example': { a: ['127.0.0.1'] } }
let certificate: TestCertificate
beforeAll(async () => {
  certificate = await testCertificate(['smart.example', 'login.example'])
})

const challenge = Buffer.from('{"status":"400","schemes":"Bearer","scope":"https://mail.google.com/"}').toString('base64')

/** A smarthost that takes mail after a login with a token that the endpoint has given, and from that mailbox alone. */
async function smarthost(
  endpoint: TokenEndpoint,
  mechanism: 'XOAUTH2' | 'OAUTHBEARER' = 'XOAUTH2',
  options: FakeMxOptions = {},
): Promise<FakeMx> {
  const [first, refused] =
    mechanism === 'XOAUTH2' ? [`user=${user}\x01`, ''] : [`n,a=${user},\x01host=smart.example\x01port=${0}\x01`, 'AQ==']
  const mx: FakeMx = await startFakeMx({
    host,
    extensions: ['PIPELINING', '8BITMIME', `AUTH LOGIN PLAIN ${mechanism}`],
    tls: certificate,
    on: {
      auth: (line) => {
        if (line === `AUTH ${mechanism}`) return '334 '
        if (line === refused) return '535 5.7.3 Authentication unsuccessful'
        const response = Buffer.from(line, 'base64').toString()
        const expected = first.replace('port=0', `port=${mx.port}`)
        const isRight = endpoint.given.some((token) => response === `${expected}auth=Bearer ${token}\x01\x01`)
        return isRight ? '235 2.7.0 Authentication successful' : `334 ${challenge}`
      },
      mail: (address) => (address === user ? undefined : '550 5.7.60 SMTP; Client does not have permissions to send as this sender'),
    },
    ...options,
  })
  onTestFinished(() => mx.close())
  return mx
}

interface Logged {
  relay: TestRelay
  lines: string[]
  faults(): Promise<{ name: string; message: string }[]>
  /** Names of the faults. */
  faultNames(): Promise<string[]>
  /** As the operator. */
  operate(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>
  becomes(id: string, status: string): Promise<void>
  answerTo(id: string): Promise<string>
}

const settingsFor = (mx: FakeMx, endpoint: TokenEndpoint, authority: string): Record<string, string> => ({
  delivery_smarthost: `smart.example:${mx.port}`,
  delivery_smarthost_user: user,
  delivery_smarthost_oauth: 'microsoft',
  delivery_smarthost_oauth_token_url: `https://login.example:${endpoint.port}/oauth2/token`,
  delivery_smarthost_oauth_client_id: endpoint.application.clientId,
  delivery_smarthost_oauth_client_secret: endpoint.application.clientSecret ?? '',
  delivery_smarthost_ca: authority,
})

function authorityFile(): string {
  const files = temporaryDirectory()
  onTestFinished(() => files.remove())
  const path = join(files.path, 'ca.pem')
  writeFileSync(path, certificate.cert)
  return path
}

async function relayBy(mx: FakeMx, endpoint: TokenEndpoint, settings: Record<string, string> = {}): Promise<Logged> {
  const lines: string[] = []
  const log = createLog('debug', (line) => lines.push(line))
  const relay = await startTestRelay({ ...settingsFor(mx, endpoint, authorityFile()), ...settings }, zone, { log })
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const faults: Logged['faults'] = async () => ((await (await fetch(`${relay.baseUrl}/healthz`)).json()) as { faults: never[] }).faults
  const only = async (id: string) => Object.values(await relay.recipients(id))[0]
  return {
    relay,
    lines,
    faults,
    faultNames: async () => (await faults()).map(({ name }) => name),
    operate: (method, path, body) => relay.call(method, path, body, { authorization: `Bearer ${token}` }),
    becomes: (id, status) => expect.poll(async () => (await only(id))?.status).toBe(status),
    answerTo: async (id) => (await only(id))?.last_response ?? '',
  }
}

/** What the job of each minute does. */
const minutePasses = async ({ relay }: Logged, ms = 60_000): Promise<void> => {
  relay.clock.advance(ms)
  await relay.relay.services.smarthostTokens.keepUp()
}

describe('mail leaves after a login by OAuth 2', () => {
  test.each(['XOAUTH2', 'OAUTHBEARER'] as const)('with %s, from the mailbox, and no secret is shown anywhere', async (mechanism) => {
    const endpoint = await startTokenEndpoint(certificate)
    const mx = await smarthost(endpoint, mechanism)
    const logged = await relayBy(mx, endpoint)
    const { relay } = logged
    const id = await relay.send('ann@rcpt.example')
    await logged.becomes(id, 'sent')
    expect(mx.messages).toMatchObject([{ tls: true, mailFrom: user, rcptTo: ['ann@rcpt.example'] }])
    expect(endpoint.requests).toEqual([
      {
        grant_type: 'client_credentials',
        scope: 'https://outlook.office365.com/.default',
        client_id: 'sterna-app',
        client_secret: 'cl1ent/s3cret+',
      },
    ])
    const { body: attempts } = await relay.call('GET', `/api/emails/${id}/attempts`)
    expect(attempts.data[0].transcript.map(({ line }: { line: string }) => line)).toContain(`AUTH ${mechanism}`)
    const shown = JSON.stringify([attempts, (await logged.operate('GET', '/api/settings')).body, logged.lines])
    for (const secret of [endpoint.given[0] ?? '', 'cl1ent/s3cret+']) {
      expect(shown).not.toContain(secret)
      expect(shown).not.toContain(Buffer.from(secret).toString('base64').slice(4, 40))
    }
    const [row] = await relay.relay.services.db.read<{ tokens: Uint8Array }>('select tokens from smarthost_token')
    expect(Buffer.from(row?.tokens ?? []).includes(endpoint.given[0] ?? '')).toBe(false)
    expect(await logged.faultNames()).toEqual([])
  })

  test('the next start uses the same token', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const logged = await relayBy(await smarthost(endpoint), endpoint)
    await logged.becomes(await logged.relay.send('ann@rcpt.example'), 'sent')
    await logged.relay.restart()
    await logged.becomes(await logged.relay.send('bob@rcpt.example'), 'sent')
    expect(endpoint.requests).toHaveLength(1)
  })
})

describe('the token is replaced', () => {
  test('ahead of its expiry, and mail does not wait for that', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const mx = await smarthost(endpoint)
    const logged = await relayBy(mx, endpoint)
    await logged.becomes(await logged.relay.send('ann@rcpt.example'), 'sent')
    await minutePasses(logged, 49 * 60_000)
    expect(endpoint.requests).toHaveLength(1)
    await minutePasses(logged, 60_000)
    expect(endpoint.requests).toHaveLength(2)
    // What the first one was for is over.
    endpoint.given.shift()
    logged.relay.clock.advance(11 * 60_000)
    await logged.becomes(await logged.relay.send('bob@rcpt.example'), 'sent')
    expect(endpoint.requests).toHaveLength(2)
  })

  test('when the smarthost refuses it, once, before the attempt counts as failed', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const mx = await smarthost(endpoint)
    const logged = await relayBy(mx, endpoint)
    await expect.poll(() => endpoint.given.length).toBe(1)
    endpoint.given.length = 0
    const id = await logged.relay.send('ann@rcpt.example')
    await logged.becomes(id, 'sent')
    expect(Object.values(await logged.relay.recipients(id))).toMatchObject([{ attempts: 1 }])
    expect([endpoint.requests.length, await logged.faultNames()]).toEqual([2, []])
    const { body } = await logged.relay.call('GET', `/api/emails/${id}/attempts`)
    expect(body.data[0].transcript.map(({ line }: { line: string }) => line)).toEqual(
      expect.arrayContaining([
        'AUTH XOAUTH2',
        `334 ${challenge}`,
        '535 5.7.3 Authentication unsuccessful',
        '235 2.7.0 Authentication successful',
      ]),
    )
  })

  test('when the smarthost refuses the new one as well, mail waits, and it is told', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const mx = await smarthost(endpoint)
    mx.on = {
      ...mx.on,
      auth: (line) => (line === 'AUTH XOAUTH2' ? '334 ' : '535 5.7.139 SmtpClientAuthentication is disabled for the Mailbox.'),
    }
    const logged = await relayBy(mx, endpoint)
    const id = await logged.relay.send('ann@rcpt.example')
    await logged.becomes(id, 'deferred')
    expect(await logged.answerTo(id)).toMatch(/535 5\.7\.139 SmtpClientAuthentication is disabled for the Mailbox/)
    expect([endpoint.requests.length, await logged.faultNames()]).toEqual([2, ['smarthost_login']])
  })
})

describe('a provider that refuses', () => {
  test.each(['invalid_grant', 'unauthorized_client', 'invalid_client'])(
    'with %s switches the route off, and is not asked again before a human says so',
    async (error) => {
      const endpoint = await startTokenEndpoint(certificate)
      endpoint.instead = refuseWith(400, error, 'AADSTS7000215: Invalid client secret cl1ent/s3cret+ provided.\r\nTrace ID: 1')
      const mx = await smarthost(endpoint)
      const logged = await relayBy(mx, endpoint)
      const id = await logged.relay.send('ann@rcpt.example')
      await logged.becomes(id, 'deferred')
      expect(await logged.answerTo(id)).toContain(`the route is off: ${error}: AADSTS7000215: Invalid client secret (not shown) provided.`)
      for (let minutes = 0; minutes < 5; minutes++) await minutePasses(logged, 20 * 60_000)
      await logged.relay.restart()
      await expect.poll(logged.faultNames).toEqual(['smarthost_off'])
      expect([endpoint.requests.length, mx.sessions.length]).toEqual([1, 0])
      expect(JSON.stringify([logged.lines, await logged.faults()])).not.toContain('cl1ent/s3cret+')

      endpoint.instead = null
      expect(await logged.operate('POST', '/api/smarthost/retry')).toMatchObject({ status: 200, body: { state: 'ready', trouble: null } })
      expect(await logged.faultNames()).toEqual([])
      logged.relay.clock.advance(3_600_000)
      await logged.becomes(id, 'sent')
    },
  )

  test('is asked again with another secret', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const mx = await smarthost(endpoint)
    const settings = {
      delivery_smarthost_oauth_client_secret_file: join(temporaryDirectory().path, 'secret'),
      delivery_smarthost_oauth_client_secret: '',
    }
    writeFileSync(settings.delivery_smarthost_oauth_client_secret_file, 'wrong')
    const logged = await relayBy(mx, endpoint, settings)
    await expect.poll(logged.faultNames).toEqual(['smarthost_off'])
    await logged.relay.restart(() => writeFileSync(settings.delivery_smarthost_oauth_client_secret_file, 'cl1ent/s3cret+'))
    await logged.becomes(await logged.relay.send('ann@rcpt.example'), 'sent')
    expect(await logged.faultNames()).toEqual([])
  })
})

describe('a token endpoint that is down', () => {
  test.each<[string, TokenEndpoint['instead'], RegExp]>([
    ['answers 503', (_, response) => void response.writeHead(503).end('<html>'), /answered with status 503/],
    ['says so', refuseWith(400, 'temporarily_unavailable'), /says temporarily_unavailable/],
    ['hangs up', ({ socket }) => void socket.destroy(), /cannot be reached/],
    ['gives no token', (_, response) => void response.end('{"token_type":"Bearer"}'), /no access token that can be used/],
    ['redirects', (_, response) => void response.writeHead(302, { location: 'https://other.example/' }).end(), /status 302/],
  ])('because it %s has mail wait, and is asked again by itself', async (_, instead, reason) => {
    const endpoint = await startTokenEndpoint(certificate)
    endpoint.instead = instead
    const logged = await relayBy(await smarthost(endpoint), endpoint)
    const id = await logged.relay.send('ann@rcpt.example')
    await logged.becomes(id, 'deferred')
    expect(await logged.answerTo(id)).toMatch(reason)
    await expect.poll(logged.faultNames).toEqual(['smarthost_token'])
    const asked = endpoint.requests.length
    endpoint.instead = null
    await minutePasses(logged)
    expect(endpoint.requests).toHaveLength(asked + 1)
    await expect.poll(logged.faultNames).toEqual([])
    logged.relay.clock.advance(60_000)
    await logged.becomes(id, 'sent')
  })

  test('concerns nobody while there is a token', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const logged = await relayBy(await smarthost(endpoint), endpoint)
    await logged.becomes(await logged.relay.send('ann@rcpt.example'), 'sent')
    endpoint.instead = refuseWith(503, 'server_error')
    await minutePasses(logged, 51 * 60_000)
    expect(endpoint.requests).toHaveLength(2)
    await logged.becomes(await logged.relay.send('bob@rcpt.example'), 'sent')
    expect(await logged.faultNames()).toEqual([])
    // The wait doubles.
    await minutePasses(logged)
    await minutePasses(logged)
    expect(endpoint.requests).toHaveLength(3)
    await minutePasses(logged)
    expect(endpoint.requests).toHaveLength(4)
    await minutePasses(logged, 10 * 60_000)
    expect(await logged.faultNames()).toEqual(['smarthost_token'])
  })
})

describe('the doctor', () => {
  const findings = async ({ operate }: Logged): Promise<unknown[]> => {
    const { body } = await operate('GET', '/api/doctor?max_age=0')
    return body.findings.filter(({ check }: { check: string }) => check === 'smarthost')
  }

  test('fetches a token and logs in, and says what the provider says', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const mx = await smarthost(endpoint)
    const logged = await relayBy(mx, endpoint)
    const text = `smart.example accepts the login of ${user} by XOAUTH2.`
    expect(await findings(logged)).toMatchObject([{ status: 'ok', what: text, advice: null }])
    expect(mx.messages).toEqual([])

    mx.on = {
      ...mx.on,
      auth: (line) => (line === 'AUTH XOAUTH2' ? '334 ' : '535 5.7.139 SmtpClientAuthentication is disabled for the Mailbox.'),
    }
    expect(await findings(logged)).toMatchObject([
      { status: 'failed', code: 'smarthost_smtp_auth_off', advice: expect.stringContaining(`Set-CASMailbox -Identity ${user} `) },
    ])

    endpoint.instead = refuseWith(401, 'invalid_client', 'AADSTS7000222: The provided client secret keys are expired.')
    await logged.operate('POST', '/api/smarthost/retry')
    expect(await findings(logged)).toMatchObject([{ status: 'failed', what: expect.stringContaining('AADSTS7000222') }])
  })
})

describe('what a person has allowed', () => {
  const byPerson = { delivery_smarthost_oauth_grant: 'refresh_token' }

  test('is asked for, and used from then on with the refresh tokens that follow', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const logged = await relayBy(await smarthost(endpoint), endpoint, { ...byPerson, delivery_smarthost_oauth_tenant: 'smart.example' })
    await expect.poll(logged.faultNames).toEqual(['smarthost_off'])
    const id = await logged.relay.send('ann@rcpt.example')
    await logged.becomes(id, 'deferred')
    expect(await logged.answerTo(id)).toContain('sterna smarthost authorize')
    const { body } = await logged.operate('POST', '/api/smarthost/authorize')
    const page = new URL(body.url)
    expect([page.origin, page.searchParams.get('login_hint')]).toEqual(['https://login.microsoftonline.com', user])

    // The person agrees.
    endpoint.code = { code: 'once', challenge: page.searchParams.get('code_challenge') ?? '' }
    const address = `http://localhost/?code=once&state=${page.searchParams.get('state')}`
    expect(await logged.operate('POST', '/api/smarthost/connect', { address: 'http://localhost/?code=once&state=forged' })).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('invalid_grant') },
    })
    expect(await logged.operate('POST', '/api/smarthost/connect', { address })).toMatchObject({ status: 200, body: { state: 'ready' } })
    logged.relay.clock.advance(70_000)
    await logged.becomes(id, 'sent')
    await minutePasses(logged, 55 * 60_000)
    expect(endpoint.requests.map(({ refresh_token }) => refresh_token)).toEqual([undefined, undefined, 'refresh-1'])
  })

  test('is a refresh token that was got elsewhere as well', async () => {
    const endpoint = await startTokenEndpoint(certificate)
    const logged = await relayBy(await smarthost(endpoint), endpoint, byPerson)
    expect(await logged.operate('POST', '/api/smarthost/connect', { refresh_token: 'not-this' })).toMatchObject({ status: 422 })
    expect(await logged.operate('POST', '/api/smarthost/connect', { refresh_token: 'refresh-0' })).toMatchObject({ status: 200 })
    await logged.becomes(await logged.relay.send('ann@rcpt.example'), 'sent')
  })
})

test('of two nodes one fetches, and both use what it gets', async () => {
  const endpoint = await startTokenEndpoint(certificate)
  const mx = await smarthost(endpoint)
  const { a, b } = await startTwoNodes(settingsFor(mx, endpoint, authorityFile()), zone)
  const tokens = [a, b].map(({ relay }) => relay.services.smarthostTokens)
  await expect.poll(async () => (await tokens[0]?.state())?.hasToken).toBe(true)
  await passTime(50 * 60_000, a, b)
  await Promise.all(tokens.map((each) => each.keepUp()))
  await expect.poll(() => endpoint.requests.length).toBe(2)
  await passTime(1_000, a, b)
  const [first, second] = await Promise.all(tokens.map((each) => each.known()))
  expect(first).toEqual(second)
  expect(first).toMatchObject({ accessToken: endpoint.given[1], trouble: null })
  // The smarthost refuses the token of both at once: one asks for another, and the other waits for it.
  const serial = first?.serial ?? 0
  let answers: (() => void) | undefined
  endpoint.instead = (_, response) => {
    endpoint.instead = null
    answers = () => void response.end(JSON.stringify({ access_token: 'access-new', token_type: 'Bearer', expires_in: 3600 }))
  }
  const renewals = tokens.map((each) => each.renew(serial))
  await expect.poll(() => answers).toBeDefined()
  answers?.()
  await Promise.race(renewals)
  await passTime(1_000, a, b)
  await Promise.all(renewals)
  expect(endpoint.requests).toHaveLength(3)
  expect(await tokens[1]?.known()).toMatchObject({ serial: serial + 1, accessToken: 'access-new' })
})
