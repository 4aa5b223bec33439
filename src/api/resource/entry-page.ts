import { createHash } from 'node:crypto'
import { minPasswordLength, maxPasswordLength } from '../../senders/account/password-hash.ts'
import type { SternaError } from '../../platform/errors.ts'
import type { ReplyHeaders } from '../operation/call.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import { entryTexts, type EntryTexts, type Reader } from './entry-texts.ts'
import { problemOf } from '../operation/problem.ts'

/** As the dashboard looks, in what one page needs. */
const style = `:root{color-scheme:light dark;--bg:light-dark(#f6f8fa,#0d1217);--surface:light-dark(#fff,#141a21);--line:light-dark(#dce2e9,#29333e);
--edge:light-dark(#7b8794,#6f7d8b);--text:light-dark(#15202b,#e8edf2);--text-2:light-dark(#455260,#b3bdc8);--accent:light-dark(#0a5ca8,#74b6f7);
--on-accent:light-dark(#fff,#06182a);--bad:light-dark(#b0241c,#ff8f85)}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;color:var(--text);background:var(--bg);
font:400 .875rem/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif;overflow-wrap:anywhere}
main{width:min(24rem,100%);display:grid;gap:1rem}h1,p{margin:0}h1{font-size:1.25rem;line-height:1.3}
.brand{display:flex;align-items:center;gap:.5rem;font-weight:650;font-size:1rem}svg{width:1.75rem;height:1.75rem}
.bird{fill:light-dark(#12324f,#e8edf2)}.bill{fill:light-dark(#e0492f,#ff7a5f)}
form{display:grid;gap:1rem;padding:1.5rem;border:1px solid var(--line);border-radius:10px;background:var(--surface)}
label{display:grid;gap:.25rem;font-size:.8125rem;font-weight:500;color:var(--text-2)}
input,button{min-height:2.125rem;padding:.25rem .75rem;border:1px solid var(--edge);border-radius:6px;font:inherit}
input{width:100%;font-size:.875rem;font-weight:400;color:var(--text);background:var(--surface)}
button{border-color:var(--accent);background:var(--accent);color:var(--on-accent);font-weight:500;cursor:pointer}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}[role=alert]{color:var(--bad)}
@media(max-width:48rem){input,button{min-height:2.25rem}}`

const styleHash = createHash('sha256').update(style).digest('base64')

const headers = {
  // The page loads nothing and runs no script, and no other page may frame it.
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  // The URL contains a secret. With `no-referrer`, the form would have no origin at all.
  'Referrer-Policy': 'same-origin',
}

/** A page for somebody who follows one of our links. */
export interface EntryPage {
  title: string
  text: string
  /** Whether it is for users of Sterna; others need not know what their sender runs. */
  isOurs?: boolean
  /** What was wrong with the submitted form. */
  fault?: string | undefined
  form?: {
    button: string
    /** Null: the page asks for the address. */
    email: string | null
  }
  /** A form with one button, which sends a field of this name. */
  button?: { text: string; name: string }
}

const mark = `<svg viewBox="0 -1.5 32 32" aria-hidden="true"><path class="bird" d="M12.6 16.2C10.5 10.5 7 5.9 2 2.5c8 .4 15 4.3 18.7 11-2.9.3-5.5 1.2-8.1 2.7z"/><path class="bird" d="M1.5 18c6.3-.5 9.6-1.8 13.2-3.3 3.2-1.4 5.6-2.2 8.3-1.9 2 .2 3.6 1.1 4.5 2.5-4.1 5.3-10.3 8-17 8.1-3.3 2-6 3.5-9.5 4.6 2.3-1.9 4-3.6 5.2-5.4C4.8 21.5 3 20 1.5 18z"/><path class="bill" d="M27.5 15.3 31.6 17.3 26 17.3z"/></svg>`

/** Whoever reads an entry page, and the header fields of the answer. */
export interface PageCall extends Reader {
  reply: ReplyHeaders
}

/** A page that needs no script, in the language that the browser asks for. */
export function entryPage(call: PageCall, page: EntryPage, status = 200): RawAnswer {
  const texts = entryTexts(call)
  for (const [name, value] of Object.entries(headers)) call.reply.set(name, value)
  call.reply.set('Content-Language', texts.language)
  call.reply.append('Vary', 'Accept-Language')
  return new RawAnswer(htmlOf(page, texts), { status, type: 'text/html; charset=utf-8' })
}

const htmlOf = ({ title, text, fault, form, button, isOurs = true }: EntryPage, texts: EntryTexts): string => `<!doctype html>
<html lang="${texts.language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${style}</style></head>
<body>
<main>
${isOurs ? `<p class="brand">${mark}Sterna</p>\n` : ''}<h1>${escaped(title)}</h1>
<p>${escaped(text)}</p>
${fault === undefined ? '' : `<p role="alert">${escaped(fault)}</p>\n`}${form ? formOf(form, texts) : ''}${button ? buttonOf(button) : ''}</main>
</body>
</html>
`

const formOf = ({ button, email }: NonNullable<EntryPage['form']>, texts: EntryTexts): string => `<form method="post">
<label>${escaped(texts.email)}<input name="email" type="email" autocomplete="username" required${email === null ? '' : ` readonly value="${escaped(email)}"`}></label>
<label>${escaped(texts.password)}<input name="password" type="password" autocomplete="new-password" required minlength="${minPasswordLength}" maxlength="${maxPasswordLength}"></label>
<button>${escaped(button)}</button>
</form>
`

const buttonOf = ({ text, name }: NonNullable<EntryPage['button']>): string =>
  `<form method="post"><button name="${escaped(name)}" value="yes">${escaped(text)}</button></form>\n`

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

/** The page with an error on it, with the status and the header fields of the error. */
export function refusalPage(call: PageCall, error: SternaError, page: EntryPage): RawAnswer {
  const { status, headers } = problemOf(error)
  const content = entryPage(call, page, status)
  for (const [name, value] of Object.entries(headers)) call.reply.set(name, value)
  return content
}
