import { expect, test } from 'vitest'
import { doctorOperations } from '../../../src/http/api/doctor-operations.ts'
import { startApiServer } from '../../support/api-server.ts'

test('an operator is told what is wrong with the server, nobody else is', async () => {
  const findings = [
    { check: 'port_25', status: 'ok', what: 'open', advice: null },
    { check: 'clock', status: 'skipped', what: 'no server', advice: 'set one' },
    { check: 'disk', status: 'warning', what: 'nearly full', advice: 'make room' },
  ] as const
  const api = await startApiServer(({ clock }) => doctorOperations({ clock, examineServer: () => Promise.resolve([...findings]) }))
  const ask = async (permission: 'operator' | 'full_access') =>
    api.request('GET', '/api/doctor', { token: await api.token({ permission }) })
  expect((await ask('operator')).body).toEqual({ object: 'doctor', status: 'warning', checked_at: '2026-11-21T06:00:00.000Z', findings })
  expect(await ask('full_access')).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
})
