import { expect, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { serverWide } from '../../src/clients/command/command-scope.ts'
import { holdRestored } from '../../src/mail-out/queue/restored-hold.ts'
import { settableClock } from '../support/settable-clock.ts'
import { whileTimePasses } from '../support/leased-node.ts'
import { passTime, startTwoNodes, type TestNode } from '../support/two-nodes.ts'

const command = (node: TestNode, ...argv: string[]) => runCommand({ argv, cwd: '/' }, node.relay.services)
const listed = async (node: TestNode) => JSON.parse((await command(node, 'node', 'list', '--json')).stdout).data

test('each node lists all of them with their faults, until one stops', async () => {
  const { a, b } = await startTwoNodes()
  expect(await listed(a)).toEqual(await listed(b))
  expect(await listed(b)).toMatchObject([{ object: 'node', version: 'test' }, { version: 'test' }])

  a.relay.services.health.report('backup')
  await expect
    .poll(async () => (await listed(b)).flatMap(({ faults }: { faults: { name: string }[] }) => faults))
    .toMatchObject([{ name: 'backup' }])
  expect((await command(b, 'node', 'list')).stdout).toMatch(/^NODE .* FAULTS\n(node_.* (?:-|backup)\n){2}$/)
  a.relay.services.health.clear('backup')
  await expect.poll(async () => (await command(b, 'node', 'list')).stdout).not.toContain('backup')

  const [{ id }] = await listed(a)
  await a.relay.stop()
  const left = await listed(b)
  expect([left.length, left[0].id === id]).toEqual([1, false])
})

test('the doctor tells of the faults of every node at any, also beside findings that it has kept', async () => {
  const { a, b } = await startTwoNodes()
  const { accounts, apiKeys } = b.relay.services
  const { id: accountId } = await accounts.create('shop', 'enterprise')
  const { token } = await apiKeys.create({ accountId, name: 'doctor', permission: 'operator' })
  const told = async (path: string) => {
    const { findings } = (await b.call('GET', path, { token })).body
    return findings.filter(({ check }: { check: string }) => check === 'node').map(({ status }: { status: string }) => status)
  }
  expect(await told('/api/doctor')).toEqual(['ok', 'ok'])
  a.relay.services.health.report('disk_full')
  b.relay.services.health.report('backup')
  const kept = '/api/doctor?max_age=86400'
  await expect.poll(() => told(kept)).toEqual(['failed', 'warning'])
  expect(await command(b, 'doctor')).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^failed {3}node: .*: the fault disk_full, since /),
  })

  b.relay.services.health.clear('backup')
  await expect.poll(() => told(kept)).toEqual(['failed', 'ok'])
  await a.relay.stop()
  expect(await told(kept)).toEqual(['ok'])
})

test('what was restored is released at one node, and the fault is over at both', async () => {
  const { a, b } = await startTwoNodes()
  await a.relay.services.db.write([{ sql: 'insert into copied (copied_at, is_held) values (:now, 0)', params: { now: a.clock.now() } }])
  for (const { relay } of [a, b]) await holdRestored(relay.services)
  expect(b.relay.services.health.has('restored')).toBe(true)
  expect(await command(a, 'queue', 'release', '--restored')).toMatchObject({ exitCode: 0 })
  await passTime(1_000, a, b)
  await expect.poll(() => [a, b].map(({ relay }) => relay.services.health.has('restored'))).toEqual([false, false])
})

test('each node counts the mail of both, and says so in its metrics', async () => {
  const { a, b } = await startTwoNodes()
  const { accounts, apiKeys, sendingDomains } = a.relay.services
  const { id: accountId } = await accounts.create('shop', 'enterprise')
  const domain = await sendingDomains.add(accountId, 'sender.example')
  await sendingDomains.verifyManually(domain.id)
  const { token } = await apiKeys.create({ accountId, name: 'shop', permission: 'full_access' })
  const later = new Date(a.relay.services.clock.now() + 3_600_000).toISOString()
  const email = { from: 'app@sender.example', to: 'bob@rcpt.example', subject: 'Hi', text: 'Hi', scheduled_at: later }
  expect((await a.call('POST', '/api/send', { token, body: email })).status).toBe(200)
  for (const { relay } of [a, b]) {
    const page = await relay.services.metricsPage.text('test')
    expect(page).toMatch(/^# HELP sterna_queue_recipients .*: take the maximum over nodes, not the sum\.$/m)
    expect(page).toContain('sterna_queue_recipients{state="waiting"} 1\n')
  }
})

test('advice about DNS knows the addresses of all nodes', async () => {
  const { a, b } = await startTwoNodes()
  const { db } = a.relay.services
  await db.write([{ sql: 'update node set addresses = :addresses where started_at > 0', params: { addresses: '["192.0.2.77"]' } }])
  for (const { relay } of [a, b]) {
    const own = await relay.services.perform('server.get_domain', { scope: { ...serverWide(), sandbox: false } })
    expect(own).toMatchObject({ server_records: expect.arrayContaining([expect.objectContaining({ type: 'A', value: '192.0.2.77' })]) })
  }
})

test('a node with another hostname does not start beside others, and does once they have stopped', async () => {
  const { a, b, startAnother } = await startTwoNodes()
  const { db } = a.relay.services
  const clocks = [settableClock(), a.clock, b.clock]
  const start = () => startAnother({ hostname: 'other.example' }, clocks[0]!)
  await expect(whileTimePasses(db, clocks, start())).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringContaining('hostname is other.example here, and relay.example there'),
  })
  await a.relay.stop()
  await b.relay.stop()
  const other = await start()
  expect(await listed(other)).toHaveLength(1)
})
