import { expect, test } from 'vitest'
import { Examinations } from '../../../src/doctor/examinations.ts'
import { doctorOperations } from '../../../src/http/api/doctor-operations.ts'
import { startApiServer } from '../../support/api-server.ts'
import { settableClock } from '../../support/settable-clock.ts'

test('an operator is told what is wrong with the server, nobody else is', async () => {
  const findings = [
    { check: 'port_25', status: 'ok', what: 'open', advice: null },
    { check: 'clock', status: 'skipped', what: 'no server', advice: 'set one' },
    { check: 'disk', status: 'warning', what: 'nearly full', advice: 'make room' },
  ] as const
  const api = await startApiServer(({ clock }) =>
    doctorOperations({ examinations: new Examinations(clock, () => Promise.resolve([...findings])) }),
  )
  const ask = async (permission: 'operator' | 'full_access') =>
    api.request('GET', '/api/doctor', { token: await api.token({ permission }) })
  expect((await ask('operator')).body).toEqual({ object: 'doctor', status: 'warning', checked_at: '2026-11-21T06:00:00.000Z', findings })
  expect(await ask('full_access')).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
})

test('the last findings are shown for as long as the request allows, and shared while they are being made', async () => {
  let runs = 0
  const examine = async () => [{ check: 'port_25', status: 'ok', what: `look ${++runs}`, advice: null } as const]
  const api = await startApiServer(({ clock }) => doctorOperations({ examinations: new Examinations(clock, examine) }))
  const token = await api.token({ permission: 'operator' })
  const seen = async (query = '') => (await api.request('GET', `/api/doctor${query}`, { token })).body['findings'] as { what: string }[]
  expect((await Promise.all([seen('?max_age=60'), seen('?max_age=60')])).map(([finding]) => finding?.what)).toEqual(['look 1', 'look 1'])
  api.clock.advance(60_000)
  expect((await seen('?max_age=60'))[0]?.what).toBe('look 1')
  expect((await seen())[0]?.what).toBe('look 2')
  api.clock.advance(60_001)
  expect((await seen('?max_age=60'))[0]?.what).toBe('look 3')
})

test('an examination that fails is not kept', async () => {
  let runs = 0
  const examine = () => (++runs === 1 ? Promise.reject(new Error('no resolver')) : Promise.resolve([]))
  const examinations = new Examinations(settableClock(), examine)
  await expect(examinations.latest(60_000)).rejects.toThrow('no resolver')
  expect((await examinations.latest(60_000)).findings).toEqual([])
})
