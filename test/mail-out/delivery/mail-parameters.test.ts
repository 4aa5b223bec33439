import { expect, test } from 'vitest'
import { transferParameters } from '../../../src/mail-out/delivery/mail-parameters.ts'
import type { TransferOptions } from '../../../src/mail/message/transfer-options.ts'

const now = Date.UTC(2026, 10, 21)
const inSeconds = (seconds: number, mode: 'N' | 'R') => ({ deliverBy: { at: now + seconds * 1000, mode } })

test.each<[TransferOptions, Record<string, string>, string]>([
  [{}, { REQUIRETLS: '', DELIVERBY: '', 'MT-PRIORITY': '' }, ''],
  [{ requireTls: true }, { REQUIRETLS: '' }, ' REQUIRETLS'],
  [{ requireTls: true }, {}, ''],
  [{ requireTls: false }, { REQUIRETLS: '' }, ''],
  [{ priority: -4 }, { 'MT-PRIORITY': 'MIXER' }, ' MT-PRIORITY=-4'],
  [{ priority: 0 }, { 'MT-PRIORITY': '' }, ' MT-PRIORITY=0'],
  [{ priority: 4 }, {}, ''],
  [inSeconds(90.9, 'R'), { DELIVERBY: '' }, ' BY=90;R'],
  [inSeconds(90, 'R'), { DELIVERBY: '90' }, ' BY=90;R'],
  [inSeconds(89, 'R'), { DELIVERBY: '90' }, ''],
  [inSeconds(0, 'R'), { DELIVERBY: '' }, ''],
  [inSeconds(90, 'R'), {}, ''],
  [inSeconds(89, 'N'), { DELIVERBY: '90' }, ' BY=89;N'],
  [inSeconds(-3600, 'N'), { DELIVERBY: 'nonsense' }, ' BY=-3600;N'],
  [inSeconds(-2_000_000_000, 'N'), { DELIVERBY: '' }, ' BY=-999999999;N'],
  [
    { requireTls: true, priority: 1, ...inSeconds(60, 'N') },
    { REQUIRETLS: '', DELIVERBY: '', 'MT-PRIORITY': '' },
    ' REQUIRETLS BY=60;N MT-PRIORITY=1',
  ],
])('of %j, a host that offers %j is told "%s"', (transfer, offered, told) => {
  expect(transferParameters(transfer, new Map(Object.entries(offered)), now)).toBe(told)
})
