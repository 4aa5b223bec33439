import { expect, it } from 'vitest'
import { parseComplaint } from '../../src/feedback/parse-complaint.ts'

it('is read in one pass, also a field of spaces that does not end as a line does', () => {
  const content = `Feedback-Type: abuse\nUser-Agent:${' '.repeat(1_000_000)}\r\nVersion: 1`
  const message = { headers: [], parts: [{ contentType: 'message/feedback-report', content }] }
  expect(parseComplaint(message)?.feedbackType).toBe('abuse')
})
