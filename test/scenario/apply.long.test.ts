import { generateKeyPairSync } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newToken } from '../../src/senders/account/api-key-token.ts'
import { commandsIn } from '../support/run-commands.ts'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const [key, operatorKey] = [newToken(false), newToken(false)]
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const setUp = `
accounts:
  - name: shop
    plan: starter
    suppression_policy: {soft_bounces: 5, expiry: 90d}
    quota: {day: 500, month: unlimited}
    domains:
      - {name: shop.example, click_tracking: true, dkim_selector: s1, dkim_private_key: {file: dkim.pem}, quota: {day: 200}}
    templates:
      - {alias: welcome, subject: Hello, html: {file: welcome.html}, layout: frame}
      - {alias: frame, html: "<b>{{{@content}}}</b>"}
    webhooks:
      - {url: "https://app.shop.example/hooks", events: [email.bounced], secret: {env: HOOK_SECRET}}
    keys:
      - {name: web, domain: shop.example, token: {env: WEB_KEY}}
      - {name: operator, permission: operator, token: {file: operator.key}}
`
const variables = { WEB_KEY: key, HOOK_SECRET: secret }

/** A directory with the file and what it refers to. */
function directoryWithSetUp(): string {
  const directory = testDirectory()
  mkdirSync(join(directory, 'data'))
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  writeFileSync(join(directory, 'dkim.pem'), privateKey)
  writeFileSync(join(directory, 'welcome.html'), '<p>Hello</p>\n')
  writeFileSync(join(directory, 'operator.key'), `${operatorKey}\n`)
  writeFileSync(join(directory, 'setup.yaml'), setUp)
  return directory
}

test('a file makes the set-up of a running server, once, and moves to another one', async () => {
  const directory = directoryWithSetUp()
  const server = await spawnServer(join(directory, 'data'))
  await untilReady(server)
  const run = commandsIn(directory, join(directory, 'data'))
  const call = async (path: string, token: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, { headers: { authorization: `Bearer ${token}` } })
    return { status: answer.status, body: (await answer.json()) as any }
  }

  expect(await run('apply setup.yaml --yes')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('WEB_KEY is not set') })
  const plan = await run('apply setup.yaml --dry-run', variables)
  expect(plan).toMatchObject({ exitCode: 3, stderr: '7 changes to make.\n' })
  expect(await call('/api/webhooks', operatorKey)).toMatchObject({ status: 401 })
  const applied = await run('apply setup.yaml --yes', variables)
  expect(applied).toMatchObject({ exitCode: 0, stdout: plan.stdout })
  for (const text of [key, operatorKey, secret]) expect(applied.stdout + applied.stderr).not.toContain(text)
  // The server made the account default at its first start.
  expect((await run('apply setup.yaml --dry-run --prune', variables)).stdout).toMatch(/^remove {2}account default, [^\n]+\n$/)
  for (const more of ['--dry-run', '--yes', '--yes --prune', '--dry-run --prune'])
    expect(await run(`apply setup.yaml ${more}`, variables)).toMatchObject({
      exitCode: 0,
      stdout: more === '--yes --prune' ? expect.stringContaining('remove') : 'Nothing to change.\n',
    })

  expect((await call('/api/account/quota', operatorKey)).body).toMatchObject({ day: { limit: 500 }, month: { limit: null } })
  const { body: webhooks } = await call('/api/webhooks', operatorKey)
  expect(webhooks.data).toMatchObject([{ url: 'https://app.shop.example/hooks', events: ['email.bounced'] }])
  expect((await call(`/api/webhooks/${webhooks.data[0].id}`, operatorKey)).body.signing_secret).toBe(secret)
  expect((await call('/api/templates/welcome', operatorKey)).body).toMatchObject({ status: 'published', html: '<p>Hello</p>\n' })
  expect((await call('/api/api-keys', operatorKey)).body.data).toContainEqual(
    expect.objectContaining({ name: 'web', permission: 'sending_access' }),
  )
  // The key limited to a domain may not read.
  expect(await call('/api/webhooks', key)).toMatchObject({ status: 403 })
  const { body: audit } = await call('/api/audit?action=apply%20create', operatorKey)
  expect(audit.data).toHaveLength(7)
  expect(audit.data).toContainEqual(expect.objectContaining({ object_id: webhooks.data[0].id, fields: ['url', 'events', 'secret'] }))

  // The set-up moves into an empty directory, without a server.
  const exported = await run('config export exported.yaml --secrets secrets')
  expect(exported).toMatchObject({ exitCode: 0, stderr: '' })
  const yaml = readFileSync(join(directory, 'exported.yaml'), 'utf8')
  expect([yaml.includes(secret), yaml.includes('PRIVATE KEY'), yaml.includes(key)]).toEqual([false, false, false])
  for (const name of readdirSync(join(directory, 'secrets'))) expect(statSync(join(directory, 'secrets', name)).mode & 0o777).toBe(0o600)
  expect(await run('apply exported.yaml --dry-run --prune')).toMatchObject({ exitCode: 0, stdout: 'Nothing to change.\n' })
  const elsewhere = commandsIn(directory, join(directory, 'other'))
  expect(await elsewhere('apply exported.yaml --yes')).toMatchObject({ exitCode: 0 })
  expect(await elsewhere('apply exported.yaml --dry-run --prune')).toMatchObject({ exitCode: 0, stdout: 'Nothing to change.\n' })
  const again = await elsewhere('config export again.yaml --secrets again')
  expect(again.exitCode).toBe(0)
  expect(
    readFileSync(join(directory, 'again.yaml'), 'utf8')
      .replaceAll('file: again/', 'file: secrets/')
      .replace(/wh_\w{26}/g, 'wh'),
  ).toBe(yaml.replace(/wh_\w{26}/g, 'wh'))
})

test('an apply that fails half-way says what stands, and goes on the next time', async () => {
  const directory = directoryWithSetUp()
  const run = commandsIn(directory, join(directory, 'data'))
  expect(await run('apply setup.yaml --yes', variables)).toMatchObject({ exitCode: 0 })
  expect(await run('domain verify shop.example --manual')).toMatchObject({ exitCode: 0 })
  expect(await run('domain rotate shop.example')).toMatchObject({ exitCode: 0 })
  const changed = `
accounts:
  - name: shop
    plan: free
    domains: [{name: shop.example, dkim_selector: s9}]
    keys: [{name: second}]
`
  writeFileSync(join(directory, 'changed.yaml'), changed)
  const failed = await run('apply changed.yaml --yes')
  expect(failed).toMatchObject({ exitCode: 1, stdout: 'change  account shop: plan starter → free\n' })
  expect(failed.stderr).toContain('New DKIM keys are still pending')
  expect(failed.stderr).toMatch(
    /The changes above stand\. Not done,.*\n {2}change {2}domain shop\.example .*\n {2}create {2}key second of shop\n/,
  )
  expect(await run('domain verify shop.example --manual')).toMatchObject({ exitCode: 0 })
  const finished = await run('apply changed.yaml --yes')
  expect(finished).toMatchObject({ exitCode: 0 })
  expect(finished.stdout).toMatch(/^change {2}domain shop\.example .*\ncreate {2}key second of shop\n {8}sterna_live_\w{49}\n$/)
  expect(await run('apply changed.yaml --dry-run')).toMatchObject({ exitCode: 0 })
})

test('exported secrets are for their owner alone, whatever was there before', async () => {
  const directory = directoryWithSetUp()
  const run = commandsIn(directory, join(directory, 'data'))
  expect(await run('apply setup.yaml --yes', variables)).toMatchObject({ exitCode: 0 })
  expect(await run('config export first.yaml --secrets secrets')).toMatchObject({ exitCode: 0 })
  const paths = readdirSync(join(directory, 'secrets')).map((name) => join(directory, 'secrets', name))
  const texts = paths.map((path) => readFileSync(path, 'utf8'))
  for (const path of paths) rmSync(path)
  const elsewhere = join(directory, 'elsewhere')
  writeFileSync(elsewhere, 'of somebody else')
  paths.forEach((path, i) => (i === 0 ? symlinkSync(elsewhere, path) : writeFileSync(path, 'old', { mode: 0o644 })))
  expect(await run('config export second.yaml --secrets secrets')).toMatchObject({ exitCode: 0 })
  expect(readFileSync(elsewhere, 'utf8')).toBe('of somebody else')
  expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(texts)
  for (const path of paths) expect(lstatSync(path).mode & 0o777).toBe(0o600)
})
