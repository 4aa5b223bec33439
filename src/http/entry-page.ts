import { createHash } from 'node:crypto'
import { leastPasswordLength, mostPasswordLength } from '../account/password-hash.ts'
import type { SternaError } from '../errors.ts'
import type { ApiContext } from './api-state.ts'
import { problemOf } from './problem.ts'

const style = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:10vh auto;padding:0 1rem;color:#1d2733;background:#fff}
h1{font-size:1.4rem}label{display:block;margin:1rem 0}input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.5rem}
button{font:inherit;padding:.5rem 1.2rem}[role=alert]{color:#a4262c}
@media(prefers-color-scheme:dark){body{color:#e6e9ee;background:#14181d}[role=alert]{color:#ff8a8a}}`

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

/** Responds with a page that needs no script. */
export function answerEntryPage(ctx: ApiContext, status: number, page: EntryPage): void {
  ctx.set(headers)
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = entryPage(page)
}

const entryPage = ({ title, text, fault, form, button }: EntryPage): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${style}</style></head>
<body>
<h1>${escaped(title)}</h1>
<p>${escaped(text)}</p>
${fault === undefined ? '' : `<p role="alert">${escaped(fault)}</p>\n`}${form ? formOf(form) : ''}${button ? buttonOf(button) : ''}</body>
</html>
`

const formOf = ({ button, email }: NonNullable<EntryPage['form']>): string => `<form method="post">
<label>Email address<input name="email" type="email" autocomplete="username" required${email === null ? '' : ` readonly value="${escaped(email)}"`}></label>
<label>Password, at least ${leastPasswordLength} characters<input name="password" type="password" autocomplete="new-password" required minlength="${leastPasswordLength}" maxlength="${mostPasswordLength}"></label>
<button>${escaped(button)}</button>
</form>
`

const buttonOf = ({ text, name }: NonNullable<EntryPage['button']>): string =>
  `<form method="post"><button name="${escaped(name)}" value="yes">${escaped(text)}</button></form>\n`

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

/** Shows an error on this page, with its status and headers. */
export function refuseOnPage(ctx: ApiContext, error: SternaError, page: EntryPage): void {
  const { status, headers } = problemOf(error)
  answerEntryPage(ctx, status, page)
  ctx.set(headers)
  if (!ctx.req.complete) ctx.req.resume()
}
