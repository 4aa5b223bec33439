import { expect } from 'vitest'
import { classicalForMs, type ClassicalHost } from '../../src/mail-out/delivery/classical-hosts.ts'
import { ClassicalHostList } from '../../src/mail-out/queue/classical-host-list.ts'
import type { TestRelay } from './start-relay.ts'

/** A host is found to drop large hellos, and another whose week is over is forgotten. */
export async function keepClassicalHost({ relay: { services }, clock }: TestRelay): Promise<void> {
  const told: ClassicalHost[] = []
  const list = new ClassicalHostList(services, (host) => told.push(host))
  const [old, fresh] = [
    { key: '192.0.2.1 25', foundAt: clock.now() - classicalForMs },
    { key: '192.0.2.2 25', foundAt: clock.now() },
  ]
  await list.add(old)
  await list.add(fresh)
  told.length = 0
  await list.load()
  await list.reload(fresh.key)
  expect(told).toEqual([fresh, fresh])
}
