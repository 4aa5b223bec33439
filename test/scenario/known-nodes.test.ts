import { expect, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { serverWide } from '../../src/clients/command/command-scope.ts'
import { settableClock } from '../support/settable-clock.ts'
import { whileTimePasses } from '../support/leased-node.ts'
import { startTwoNodes, type TestNode } from '../support/two-nodes.ts'

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
