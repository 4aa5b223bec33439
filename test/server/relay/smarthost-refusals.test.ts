import { expect, test } from 'vitest'
import type { NamedSmarthost } from '../../../src/mail-out/smarthost/smarthost-object.ts'
import type { Health } from '../../../src/platform/health.ts'
import { SmarthostRefusals } from '../../../src/server/relay/smarthost-refusals.ts'

test('what a smarthost said to mail that set out before it was corrected is not held against it', () => {
  let revision = 0
  const told: unknown[] = []
  const health = { set: (...fault: unknown[]) => void told.push(fault) } as unknown as Health
  const smarthosts = { find: (id: string) => (id === 'sh_1' ? ({ id, name: 'backup', revision } as NamedSmarthost) : undefined) }
  const refusals = new SmarthostRefusals({ health, smarthosts })
  refusals.note({ id: 'sh_1', revision: 0, refusal: '535 wrong' })
  expect(told.at(-1)).toEqual(['smarthost_refuses', true, { problem: 'backup: 535 wrong' }])
  revision = 1
  refusals.forgetChanged()
  expect(told.at(-1)).toEqual(['smarthost_refuses', false, { problem: '' }])
  refusals.note({ id: 'sh_1', revision: 0, refusal: '535 wrong' })
  refusals.note({ id: 'sh_2', revision: 0, refusal: '535 wrong' })
  expect(told).toHaveLength(2)
  refusals.note({ id: 'sh_1', revision: 1, refusal: '535 still wrong' })
  refusals.note({ id: 'sh_1', revision: 0, refusal: null })
  expect(told.at(-1)).toEqual(['smarthost_refuses', true, { problem: 'backup: 535 still wrong' }])
})
