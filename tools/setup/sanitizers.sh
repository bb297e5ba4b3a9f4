# shellcheck shell=bash disable=SC2154
# FAISS under the thread sanitizer; the one under the address sanitizer is in faiss.sh.

setup_faiss_tsan() { build_faiss "$deps/faiss-tsan" "-fsanitize=thread -fno-omit-frame-pointer -g1"; }
