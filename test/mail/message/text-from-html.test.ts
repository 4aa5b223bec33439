import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../support/cases.ts'
import { textFromHtml } from '../../../src/mail/message/text-from-html.ts'

describe('textFromHtml', () => {
  it.each([
    ['<p>Hello <b>Ann</b>,</p><p>good  \n day</p>', 'Hello Ann,\n\ngood day'],
    ['a<br>b<br/>c', 'a\nb\nc'],
    ['<div>a</div><div>b</div>', 'a\nb'],
    ['a<br><br><br><br>b', 'a\n\nb'],
    ['<a href="https://example.com/?a=1&amp;b=2">Confirm</a> now', 'Confirm [https://example.com/?a=1&b=2] now'],
    ['<a href="https://example.com">https://example.com</a>', 'https://example.com'],
    ['<a href="mailto:a@example.com">a@example.com</a>', 'a@example.com'],
    ['<a href=https://example.com/x>x</a>', 'x [https://example.com/x]'],
    ["<a class='b' href='https://example.com'><img src=x alt='Logo'></a>", 'Logo [https://example.com]'],
    ['<a href="https://example.com"><img src=x></a>', 'https://example.com'],
    ['<a href="#top">Top</a><a href="javascript:x()">X</a>', 'TopX'],
    ['<a href="{{unsubscribe_url}}">Leave</a>', 'Leave [{{unsubscribe_url}}]'],
    ['<ul><li>a</li><li>b</li></ul>', '* a\n* b'],
    ['<ol><li>a<ul><li>b</ul><li>c</ol>', '1. a\n  * b\n2. c'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
    ['<h1>T</h1>x<hr>y', 'T\n\nx\n\n-----\n\ny'],
    ['<pre>a\n  b</pre>c', 'a\n  b\n\nc'],
    ['<html><head><title>T</title><style>p{}</style></head><body>x</body></html>', 'x'],
    ['<script>if (a < b) "</p>"</script>x', 'x'],
    ['<SCRIPT>a</SCRIPT >x', 'x'],
    ['<script><!--<script>a</script>b--></script>c', 'c'],
    ['<script><!--a</script>b', 'b'],
    ['<script><!--><script></script>a', 'a'],
    ['<style></styles>a</style>b', 'b'],
    ['<![CDATA[a>b]]>c', 'b]]>c'],
    ['<!-->a<!--->b<!--!>c--!>d<!-- -- -->e', 'abde'],
    ['<textarea><b>a</b></textarea>', '<b>a</b>'],
    ['<iframe><b>a</b></iframe>b', 'b'],
    ['a<!-- <p>hidden --> b<![endif]-->c', 'a bc'],
    ['<!DOCTYPE html>x<?xml y?>', 'x'],
    ['&lt;b&gt; &amp;amp; &#8364;&#x20AC; &euro; &nbsp; &unknown; &copy &#0;&#xD800;', '<b> &amp; €€ € &unknown; © \ufffd\ufffd'],
    ['1 < 2 and 3 <4 <', '1 < 2 and 3 <4 <'],
    ['<p title="a > b">x</p>', 'x'],
    ['<p title="a"">x "y" z</p>', 'x "y" z'],
    ['x<p', 'x'],
    ['x<script>y', 'x'],
    ['', ''],
    ['  \n ', ''],
    ['Grüße 👍', 'Grüße 👍'],
  ])('reads %j', (html, text) => expect(textFromHtml(html)).toBe(text))

  const padding = '\u00a0\u200c\u200b\u200d\u200e\u200f\ufeff'.repeat(150)
  const rules = (css: string, body: string): string => `<head><style type="text/css">${css}</style></head><body>${body}</body>`

  it.each([
    ['<div style="display:none;max-height:0">Preview</div>Hello', 'Hello'],
    ["<div style='color:red; DISPLAY : None !important'>Preview</div>Hello", 'Hello'],
    ['<div style="display&#58;none">Preview</div>Hello', 'Hello'],
    [`<div data-skip-in-text="true">Preview<div>${padding}</div></div>Hello`, 'Hello'],
    ['<div data-skip-in-text="false">Hello</div>', 'Hello'],
    ['<p hidden>Preview</p><p hidden style="display:block">Hello</p>', 'Hello'],
    ['<span style="visibility:hidden">Preview<b style="visibility:visible">Hello</b></span>', 'Hello'],
    ['<span style="opacity:0.0">Preview<b style="opacity:1">x</b></span>Hello', 'Hello'],
    ['<div style="max-height:0px;overflow:hidden">Preview</div>Hello', 'Hello'],
    ['<div style="max-width:0;overflow-x:clip">Preview</div>Hello', 'Hello'],
    ['<div style="height:1px;overflow:hidden">Preview</div>Hello', 'Hello'],
    ['<div style="max-height:0">Hello</div><div style="max-height:40px;overflow:hidden">Ann</div>', 'Hello\nAnn'],
    ['<table><td style="width:1px;overflow:hidden">Hello</td></table>', 'Hello'],
    ['<span style="font-size:0">Preview<img src=x alt="Logo"></span> Hello', 'Logo Hello'],
    ['<td style="font-size:0px"><div style="font:bold 14px/1.5 Arial">Hello</div><i style="font-size:2em">x</i></td>', 'Hello'],
    ['<td style="font-size:0"><table><td>Hello</td></table></td>', 'Hello'],
    ['<div style="font:0/0 a">Preview</div>Hello', 'Hello'],
    ['<img src=x alt="Open" style="display:none"><img src=x alt="Logo">', 'Logo'],
    ['<a style="display:none" href="https://x.example">Preview</a>Hello', 'Hello'],
    ['<ul hidden><li>Preview</ul><ol><li>Hello</ol>', '1. Hello'],
    // Only Outlook hides this, and every other mail program shows the button.
    ['<a href="https://x.example" style="mso-hide:all">Confirm</a>', 'Confirm [https://x.example]'],
    // Hidden from screen readers only.
    ['<span aria-hidden="true">→</span> Hello', '→ Hello'],
    [rules('.preheader { display: none !important; visibility: hidden }', '<span class="x preheader">Preview</span>Hello'), 'Hello'],
    [rules('/* } */ p, SPAN.a, #b {display:none}', '<span class=a>x</span><i id=b>x</i><i class=a>Hello</i><p>x'), 'Hello'],
    [rules('.m{display:none}.s{display:block}', '<p class="m s">Hello</p><p class="m">x</p>'), 'Hello'],
    [rules('.m{display:none}', '<p class=m style="display:block">Hello</p>'), 'Hello'],
    [rules('.m{display:none!important}', '<p class=m style="display:block">x</p>Hello'), 'Hello'],
    [rules('@media (max-width:600px){.m{display:none}} @import "x"; .n{display:none}', '<p class=m>Hello</p><p class=n>x</p>'), 'Hello'],
    [rules('.m p, .m:hover, u + .m {display:none}', '<p class=m>Hello</p>'), 'Hello'],
    ['<style media="print">p{display:none}</style><p>Hello</p>', 'Hello'],
    // What ends a hidden element that has no end tag of its own.
    ['<p hidden>Preview<p>Hello', 'Hello'],
    ['<p hidden>Preview<table><tr><td>Hello</table>', 'Hello'],
    ['<ul><li hidden>x<li>Hello</ul>', '* Hello'],
    ['<table><tr hidden><td>x<tr><td hidden>x<td>Hello</table>', 'Hello'],
    ['<div>Ann<span hidden>Preview</div>Hello', 'Ann\nHello'],
    ['<div hidden><div>x</div></p><table><td></div>x</table>x</div>Hello', 'Hello'],
    ['<div hidden><br><img src=x alt=y>x</div>Hello', 'Hello'],
    [`Preview${padding}<div>Hello</div>`, 'Preview\nHello'],
    ['Preview&#847;&zwnj;&nbsp;&#8199;&#65279;&#847; &shy;<div>Hello</div>', 'Preview\nHello'],
    [
      'mi\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d🚀 soft\u00adhy&shy;phen \u200fa',
      'mi\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d🚀 softhyphen \u200fa',
    ],
  ])('leaves out what a mail program does not show in %j', (html, text) => expect(textFromHtml(html)).toBe(text))

  it.each(['react-email', 'react-email-pretty', 'mjml'])('has only what the page of %s shows', (name) => {
    const html = readFileSync(join(import.meta.dirname, `../../fixtures/made-html/${name}.html`), 'utf8')
    expect(textFromHtml(html)).toBe(
      name === 'mjml'
        ? 'Hello {{name}} {{{raw}}} {{> footer}}\n{{#items}}\n{{title}} é 🐦\n{{/items}}\n\nGo [{{url}}]\n\n{{{@content}}}'
        : 'Hi {{name}}, "quoted" <tag> é 🐦\n\n{{#items}}\n\n{{title}}\n\n{{/items}}Go [{{url}}]{{> footer}}',
    )
  })

  it('never throws', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '</',
      '<!--',
      '-->',
      '"',
      "'",
      '=',
      'a',
      ' ',
      '<a href="https://x">',
      '</a>',
      '<li>',
      '<ol>',
      '</ul>',
      '<pre>',
      '<script>',
      '<style>.a{display:none}</style>',
      '<p class=a style="font:',
      '<div style="display:none">',
      '</div>',
      '<table><td hidden>',
      '\u200c',
      '&#',
      '&amp;',
      '\ud800',
    )
    fc.assert(fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => typeof textFromHtml(pieces.join('')) === 'string'))
  })

  // Each is 2 to 5 MB in CI, over which a quadratic reader would take minutes to hours.
  it.each([
    ['<div>', 400_000],
    ['<', 5_000_000],
    ['<a ', 1_000_000],
    ['<a href="', 500_000],
    ["<a x='", 500_000],
    ['<a href="https://x">', 200_000],
    ['<!--', 1_000_000],
    ['<!', 2_000_000],
    ['</', 2_000_000],
    ['<script>', 500_000],
    ['<script></', 400_000],
    ['<ul><li>', 400_000],
    ['&', 5_000_000],
    ['&#', 2_000_000],
    ['&a', 2_000_000],
    ['<pre>\n', 500_000],
    ['<p>x', 1_000_000],
    [' ', 5_000_000],
    ['<a>x</a>', 500_000],
    ['<img alt=', 400_000],
    ['<b>x</i>', 300_000],
    ['<div style="display:none"><b>', 100_000],
    ['<table><td></p>', 200_000],
    ['<style>.a{display:none}</style><p class="a b c a b c">', 50_000],
    ['<style>{', 300_000],
    ['<style>/*', 300_000],
    ['<p style="', 300_000],
    ['\u200c \u00ad', 1_000_000],
  ])('reads %j many times', (html, all) => {
    const count = cases(all)
    expect(textFromHtml(html.repeat(count)).length).toBeLessThanOrEqual(html.length * count * 4)
  })

  it('reads tags with very many attributes', () => {
    expect(textFromHtml(`<a ${'x '.repeat(2000)}>`.repeat(1000))).toBe('')
    expect(textFromHtml(`<img ${'"'.repeat(4000)}>`.repeat(1000))).toBe('')
    expect(textFromHtml(`<img ${`x="y' z=' `.repeat(400)}>`.repeat(1000))).toBe('')
  })

  it.each([
    ['many selectors with many declarations', `<style>${'.a,'.repeat(100_000)}.b{${'width:0;'.repeat(50_000)}}</style>`],
    ['blanks in `media`', `<style media="${' '.repeat(4000)}x"></style>`.repeat(500)],
    ['blanks before `!important`', `<style>a{width:0${' '.repeat(180)}!x important}</style>`.repeat(10_000)],
  ])('reads %s', (_, html) => {
    expect(textFromHtml(`${html}<p>x`)).toBe('x')
  })
})
