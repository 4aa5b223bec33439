import { expect, onTestFinished, test } from 'vitest'
import { classicalForMs, maxClassicalHosts } from '../../../src/mail-out/delivery/classical-hosts.ts'
import { ClassicalHostList } from '../../../src/mail-out/queue/classical-host-list.ts'
import { keepClassicalHost } from '../../support/delivery-life.ts'
import { startTestRelay, type TestRelay } from '../../support/start-relay.ts'

async function start(): Promise<TestRelay> {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  return relay
}

test('a host is kept for a week, unless a handshake fails there', async () => keepClassicalHost(await start()))

test('no more hosts are stored than fit, but a host that is stored can be found again', async () => {
  const { relay, clock } = await start()
  const { services } = relay
  const list = new ClassicalHostList(services, () => {})
  const foundAt = clock.now()
  const all = `with recursive n (i) as (select 1 union all select i + 1 from n where i < :most)
    insert into classical_host (id, found_at) select cast(i as text) || ' 25', :foundAt from n`
  await services.db.write([{ sql: all, params: { most: maxClassicalHosts, foundAt } }])
  const later = foundAt + classicalForMs / 2
  await list.set({ key: 'one more 25', foundAt: later })
  await list.set({ key: '7 25', foundAt: later })
  const [counted] = await services.db.read<{ count: number }>('select count(*) as count from classical_host')
  expect(counted).toEqual({ count: maxClassicalHosts })
  expect(await services.db.read('select id from classical_host where found_at = :later', { later })).toEqual([{ id: '7 25' }])
})
