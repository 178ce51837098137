// Excerpts from search_pages.js, and headings first: a search for "voice coil" shows the section of that name.

"use strict";

(() => {
  const fetched = window.fetch;
  window.fetch = (address, ...rest) => {
    const name = String(address).replace(document.documentElement.dataset.content_root, "").replace(/\.html$/, "");
    if (!(name in SEARCH_PAGES)) return fetched(address, ...rest);
    return Promise.resolve({ text: () => Promise.resolve(SEARCH_PAGES[name]) });
  };

  // Sections whose headings have all the words; how-to pages before others, short headings before long ones; the best at the end.
  const headings = (words) => {
    const { alltitles, docnames, titles, filenames } = Search._index, stemmer = new Stemmer(), found = [];
    for (const [title, places] of Object.entries(alltitles)) {
      const stems = splitQuery(title.toLowerCase()).map((word) => stemmer.stemWord(word));
      if (!words.length || !words.every((word) => stems.some((stem) => stem.startsWith(word)))) continue;
      for (const [file, id] of places) {
        const name = titles[file] === title ? title : `${titles[file]} > ${title}`;
        const score = 100 + (docnames[file].startsWith("how_to/") ? 50 : 0) - title.length / 100;
        found.push([docnames[file], name, id === null ? "" : `#${id}`, null, score, filenames[file], SearchResultKind.title]);
      }
    }
    return found.sort((a, b) => a[4] - b[4]);
  };

  const perform = Search._performSearch;
  Search._performSearch = (query, words, ...rest) => {
    const first = headings([...words]), known = new Set(first.map((item) => item[0] + item[2]));
    return [...perform(query, words, ...rest).filter((item) => !known.has(item[0] + item[2])), ...first];
  };
})();
