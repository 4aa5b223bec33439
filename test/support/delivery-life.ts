import { expect } from 'vitest'
import { classicalForMs, type ClassicalHost } from '../../src/mail-out/delivery/classical-hosts.ts'
import { ClassicalHostList, sweepClassicalHosts } from '../../src/mail-out/queue/classical-host-list.ts'
import type { TestRelay } from './start-relay.ts'

/** Hosts are found to drop large hellos: one whose week is over is forgotten, and so is one that does so no longer. */
export async function keepClassicalHost({ relay: { services }, clock }: TestRelay): Promise<void> {
  const told: ClassicalHost[] = []
  const list = new ClassicalHostList(services, (host) => told.push(host))
  const [old, fresh] = [
    { key: '192.0.2.1 25', foundAt: clock.now() - classicalForMs },
    { key: '192.0.2.2 25', foundAt: clock.now() },
  ]
  await list.set(old)
  await list.set(fresh)
  const heard = async (read: Promise<void>): Promise<ClassicalHost[]> => (await read, told.splice(0))
  told.length = 0
  expect(await heard(list.load())).toEqual([fresh])
  expect(await heard(list.reload(fresh.key))).toEqual([fresh])
  await sweepClassicalHosts(services.db, clock.now())
  expect(await services.db.read('select id from classical_host where id in (:old, :fresh)', { old: old.key, fresh: fresh.key })).toEqual([
    { id: fresh.key },
  ])
  await list.set({ ...fresh, foundAt: null })
  told.length = 0
  expect(await heard(list.reload(fresh.key))).toEqual([{ ...fresh, foundAt: null }])
  await list.set(fresh)
}
