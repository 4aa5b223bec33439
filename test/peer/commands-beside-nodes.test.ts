import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { commands } from '../../src/clients/command/command-list.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts'
import { commandsIn } from '../support/run-commands.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

/** Commands on a machine where nobody serves, while a node on another one does, over the same database. */
let postgres: PostgresServer

beforeAll(() => void (postgres = startPostgres()))
afterAll(() => postgres?.stop())

async function start() {
  const host = '127.0.3.8'
  let isWilling = false
  const mx = await startFakeMx({ host, on: { rcpt: () => (isWilling ? undefined : '450 4.2.0 later') } })
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } }
  const url = await postgres.newUrl()
  const relay = await startTestRelay({ delivery_port: String(mx.port), store_url: url }, zone as never, { clock: systemClock })
  onTestFinished(() => relay.stop())
  const directory = testDirectory()
  mkdirSync(join(directory, 'data'))
  copyFileSync(join(relay.dataDir, 'secret.key'), join(directory, 'data', 'secret.key'))
  const inDirectory = commandsIn(directory, join(directory, 'data'))
  const run = (line: string) =>
    inDirectory(line, { STERNA_STORE_URL: url, STERNA_HOSTNAME: 'relay.example', STERNA_BASE_URL: 'https://relay.example' })
  const { db, nodes } = relay.relay.services as unknown as { db: typeof relay.relay.services.db; nodes: { self: string } }
  return { relay, db, self: nodes.self, mx, directory, run, willing: () => (isWilling = true) }
}

/** With what each ends: an object that it prints as JSON, or words with which it is refused. */
const table: [line: string, result: string | RegExp][] = [
  ['account create shop', 'account'],
  ['account list', 'list'],
  ['apply set-up.yaml --yes', 'applied'],
  ['config export', 'set_up'],
  ['account suspend shop', 'account'],
  ['account resume shop', 'account'],
  ['account plan shop starter', 'account'],
  ['account quota shop --day 1000 --month unlimited', 'mail_quota'],
  ['account notices shop on', 'account'],
  ['account suppression-policy shop --soft-bounces 5 --expiry 90d --complaints false', 'suppression_policy'],
  ['account retry-schedule shop --delays 1m,5m,1h', 'retry_schedule'],
  ['account recipient-tls shop --domains bank.example=verify,.partner.example=require', 'recipient_tls'],
  ['account urgent-mail shop --per-minute 600', 'urgent_mail'],
  ['account harm-limits shop --bounces-suspend 200', 'harm_limits'],
  ['key create --account shop', 'api_key'],
  ['key list --account shop', 'list'],
  ['key rotate {api_key}', 'api_key'],
  ['key revoke {api_key} --yes', 'api_key'],
  ['user invite ann@example.com --account shop', 'user'],
  ['user invite bob@example.com --account shop --role owner --operator', 'user'],
  ['user reset ann@example.com', 'user'],
  ['user role ann@example.com viewer', 'user'],
  ['user list', 'list'],
  ['user remove ann@example.com --yes', 'user'],
  ['domain add example.com --account shop', 'domain'],
  ['domain list', 'list'],
  ['domain show example.com', 'domain'],
  ['domain verify example.com --manual', 'domain'],
  ['smarthost add backup --host smtp.relay.example', 'smarthost'],
  ['smarthost list', 'list'],
  ['smarthost change backup --port 2525', 'smarthost'],
  ['route add --via backup --account shop', 'route'],
  ['route list', 'list'],
  ['route explain app@example.com ann@simulator.test', 'route_explanation'],
  ['route change {route} --via direct', 'route'],
  ['route remove {route}', 'route'],
  ['smarthost remove backup --yes', 'smarthost'],
  ['domain rotate example.com', 'domain'],
  ['domain remove example.com --yes', 'domain'],
  ['webhook add https://example.com/hook --account shop', 'webhook'],
  ['webhook list --account shop', 'list'],
  ['webhook test {webhook}', /No server runs on /],
  ['webhook disable {webhook}', 'webhook'],
  ['webhook enable {webhook}', 'webhook'],
  ['webhook remove {webhook} --yes', 'webhook'],
  ['suppression add ann@example.com --account shop --reason asked', 'list'],
  ['suppression list --account shop', 'list'],
  ['suppression check ann@example.com --account shop', 'suppression_check'],
  ['suppression remove ann@example.com --account shop --yes', 'suppression'],
  ['message list --account shop', 'list'],
  ['message show em_0', /em_0/],
  ['message tail --account shop', /No server runs on /],
  ['send-test ann@example.com --account shop --from a@example.com', /No server runs on |./],
  ['template push welcome.html --account shop', 'list'],
  ['template pull --account shop --directory pulled', 'template_files'],
  ['queue list', 'list'],
  ['queue show rcpt.example', 'list'],
  ['queue hold rcpt.example', 'queue_change'],
  ['queue release rcpt.example', 'queue_change'],
  ['queue retry rcpt.example', 'queue_change'],
  ['queue cancel --restored --yes', /No mail is held because a backup was restored/],
  ['shaping', 'list'],
  ['mta-sts show rcpt.example', /MTA-STS policy/],
  ['smarthost show', /delivery.smarthost_oauth is not set/],
  ['smarthost authorize', /not logged in to by refresh_token/],
  ['smarthost connect http://localhost/', /not logged in to by refresh_token/],
  ['smarthost retry', /delivery.smarthost_oauth is not set/],
  ['tls-reports list', 'list'],
  ['tls-reports show tlr_0', /There is no such report/],
  ['tls-reports send tlr_0', /There is no such report/],
  ['import suppressions list.csv --account shop --from postmark', 'suppression_import'],
  ['feedback list', 'list'],
  ['feedback show rep_0', /There is no such report/],
  ['erase ann@example.com --yes', 'erasure'],
  ['backup copy.db', /The database is on a server, which sterna backup cannot copy: use pg_dump/],
  ['restore copy.db', /The database is on a server, and is restored there: stop all nodes, use pg_restore/],
  ['compact', /The database is on a server, and is rewritten there: use .*vacuum full/],
  ['upgrade', 'upgrade'],
  ['node list', 'list'],
  ['log level debug', /No server runs on /],
  ['rotate secret-key', 'secret_key_rotation'],
  ['account export shop exported', 'account_export'],
  ['account delete shop --yes', 'account'],
]
/** They use no database, or are a server, or ask the network for what is beside the point here, or copy a database that nobody serves. */
const elsewhere = [
  'serve',
  'health',
  'doctor',
  'store copy',
  'store reopen',
  'key generate',
  'backup list',
  'backup identity',
  'feedback parse',
  'reply explain',
  'tracking rewrite',
  'tracking judge',
  'explain',
  'mta-sts refresh',
  'bench',
  'version',
  'help',
]

test('each command does its work beside a node, or says what to do instead, and leaves the node alone', async () => {
  const { relay, db, self, directory, run } = await start()
  writeFileSync(join(directory, 'welcome.html'), '<title>Hello</title><p>Hello</p>')
  writeFileSync(
    join(directory, 'list.csv'),
    'EmailAddress,SuppressionReason,Origin,CreatedAt\nann@example.com,HardBounce,Recipient,2026-01-01\n',
  )
  writeFileSync(join(directory, 'set-up.yaml'), 'accounts: [{name: shop, plan: starter}]')
  const id = await relay.send('bob@rcpt.example')
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('deferred')
  const ids: Record<string, string> = {}
  const found: [string, unknown][] = []
  for (const [line, result] of table) {
    const ran = await run(`${line.replace(/\{(\w+)\}/, (_, name: string) => ids[name] ?? '')} --json`)
    const told = ran.exitCode === 0 ? (JSON.parse(ran.stdout) as { object: string; id?: string }) : null
    if (told) ids[told.object] = told.id ?? ''
    const isAsSaid = typeof result === 'string' ? told?.object === result : ran.exitCode === 1 && result.test(ran.stdout + ran.stderr)
    found.push([line, isAsSaid ? result : { ...ran, told: told?.object }])
  }
  expect(found).toEqual(table)
  const named = new Set([
    ...elsewhere,
    ...table.map(([line]) => commands.find(({ name }) => line === name || line.startsWith(`${name} `))?.name),
  ])
  expect(commands.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([])
  expect(await db.read('select name from node')).toEqual([{ name: self }])
  expect(await db.read('select name from duty where holder is null order by name')).toEqual([{ name: 'apply' }])
})

test('what a command makes due, the node delivers', async () => {
  const { relay, mx, run, willing } = await start()
  const id = await relay.send('bob@rcpt.example')
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('deferred')
  willing()
  expect(await run('queue retry rcpt.example')).toMatchObject({ exitCode: 0 })
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('delivered')
  expect(mx.messages).toHaveLength(1)
})

test('a command holds no mail, and one file is applied at a time', async () => {
  const { relay, db, self, directory, run } = await start()
  writeFileSync(join(directory, 'set-up.yaml'), 'accounts: [{name: shop, plan: starter}]')
  const id = await relay.send('bob@rcpt.example')
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('deferred')
  await db.write([{ sql: 'insert into copied (copied_at, is_held) values (0, 0)' }])
  expect(await run('account create one')).toMatchObject({ exitCode: 0 })
  expect(await db.read('select held from recipient')).toEqual([{ held: 0 }])

  await db.write([{ sql: "insert into duty (name, holder) values ('apply', :self)", params: { self } }])
  expect(await run('apply set-up.yaml --yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/Another ".* apply" is under way, here or at another node\./),
  })
  expect(await run('apply set-up.yaml --dry-run')).toMatchObject({ exitCode: 3 })
  await db.write([{ sql: "update duty set holder = 'node_gone' where name = 'apply'" }])
  expect(await run('apply set-up.yaml --yes')).toMatchObject({ exitCode: 0 })
})
