import { afterEach, expect, it } from 'vitest'
import { UntrustedReader } from '../src/untrusted-reader.ts'

let reader: UntrustedReader<null, unknown>
afterEach(() => reader.stop())

it('a child that cannot be started is no fault of the document', async () => {
  reader = new UntrustedReader({ child: new URL('./no-such-module.ts', import.meta.url), timeoutMs: 2000, maxOldSpaceMb: 64 })
  const load = async () => [Buffer.from('a document')]
  await expect(reader.read(load, null)).rejects.toMatchObject({ code: 'service_unavailable' })
  await expect(reader.read(load, null)).rejects.toMatchObject({ code: 'service_unavailable' })
})
