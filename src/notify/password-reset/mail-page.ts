import { isoTime } from '../../platform/iso-time.ts'
import type { MimePart } from '../../mail/message/compose-parts.ts'
import { encodeTextPart } from '../../mail/message/text-part.ts'

const font = 'font:16px/1.5 system-ui,-apple-system,Segoe UI,Roboto,sans-serif'

/** The HTML part of a mail to a user; `body` is escaped already. */
export const htmlPart = (title: string, body: string): MimePart => ({
  contentType: 'text/html; charset=utf-8',
  ...encodeTextPart(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title></head>
<body style="${font};max-width:34rem;margin:0 auto;padding:24px 16px">
${body}
</body>
</html>
`),
})

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

/** `2026-11-27 at 17:45 UTC` */
export const momentText = (at: number): string => `${isoTime(at).slice(0, 10)} at ${isoTime(at).slice(11, 16)} UTC`
