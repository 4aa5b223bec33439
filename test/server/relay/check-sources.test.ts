import { expect, test } from 'vitest'
import { checkSources } from '../../../src/server/relay/check-sources.ts'

const sourcesAt = (...addresses: string[]) => addresses.map((address) => ({ address, ehloName: null }))

test('an address that the machine does not have is told, and the others are used', async () => {
  const told: unknown[] = []
  const log = { error: (about: unknown) => void told.push(about) }
  await checkSources(sourcesAt('127.0.2.1', '::1'), log)
  expect(told).toEqual([])
  await checkSources(sourcesAt('127.0.2.1', '192.0.2.77', '2001:db8::77'), log)
  expect(told).toEqual([{ addresses: ['192.0.2.77', '2001:db8::77'] }])
})

test('without any of them nothing starts', async () => {
  await expect(checkSources(sourcesAt('192.0.2.77'), { error: () => {} })).rejects.toThrow(
    'delivery.source_addresses: this machine does not have 192.0.2.77. Add the address to an interface, or remove it from the setting.',
  )
})
