import { expect, test } from 'vitest'
import { tellDropped } from '../../../src/api/resource/dropped-headers.ts'

/** The field in the answer for emails with these fields left out. */
function toldOf(emails: string[][]): string | undefined {
  let told: string | undefined
  const set = (_name: string, value: string): void => void (told = value)
  tellDropped(
    { set, append: set },
    emails.map((droppedHeaders) => ({ droppedHeaders })),
  )
  return told
}

test('each field that was left out is told once', () => {
  expect(toldOf([['Message-ID', 'Date'], ['message-id'], []])).toBe('message-id, Date')
  expect(toldOf([[]])).toBeUndefined()
})

test('a batch with thousands of different fields gets an answer that clients can read', () => {
  const letters = (n: number) => String(n).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)] as string)
  const names = (email: number) => Array.from({ length: 50 }, (_, i) => `Content-${letters(email * 50 + i).padStart(60, 'x')}`)
  expect(toldOf(Array.from({ length: 100 }, (_, email) => names(email)))?.length).toBeLessThan(8_192)
})
